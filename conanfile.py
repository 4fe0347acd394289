# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""The recipe of the package for Conan 2. In a clone: conan create . -s compiler.cppstd=20 --build=missing"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.scm import Version

OLDEST = {"gcc": "12", "clang": "16"}  # the compilers that the library is tested with


class Tapeless(ConanFile):
    name = "tapeless"
    description = "Compile-time automatic differentiation for C++20"
    license = "MIT"
    topics = ("autodiff", "gradient", "tensor", "simd", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "threads": ["std", "openmp", "none"],  # whose threads the kernels use
        "with_zlib": [True, False],  # tapeless::zlib reads compressed files
    }
    default_options = {"threads": "std", "with_zlib": False}
    exports_sources = "include/*.hpp", "LICENSE"
    no_copy_source = True

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "include/tapeless/version.hpp"))
        parts = (re.search(rf"define TAPELESS_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))
        self.version = ".".join(parts)

    def requirements(self):
        self.requires("xsimd/[>=8.1 <15]", transitive_headers=True)
        if self.options.with_zlib:
            self.requires("zlib/[>=1.2.11 <2]", transitive_headers=True, transitive_libs=True)

    def validate(self):
        system, compiler = self.settings.get_safe("os"), self.settings.get_safe("compiler")
        version = self.settings.get_safe("compiler.version")
        if compiler not in OLDEST or Version(version) < OLDEST[compiler]:
            raise ConanInvalidConfiguration(f"tapeless: it is not tested with {compiler} {version}: "
                                            "take gcc 12 or newer, or clang 16 or newer")
        if system != "Linux":
            raise ConanInvalidConfiguration(f"tapeless: it is not tested on {system}: take Linux")
        try:
            check_min_cppstd(self, 20)
        except ConanInvalidConfiguration as reason:
            sentence = f"tapeless: the library is C++20: -s compiler.cppstd=20 ({reason})"
            raise ConanInvalidConfiguration(sentence) from None

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", src=os.path.join(self.source_folder, "include"),
             dst=os.path.join(self.package_folder, "include"))

    def package_id(self):
        self.info.clear()  # headers only: one package for all settings and options

    def package_info(self):
        # The targets are those of the CMake package; tapeless::tapeless has the threads that the option names.
        self.cpp_info.set_property("cmake_file_name", "tapeless")
        self.cpp_info.set_property("cmake_target_name", "tapeless::all")  # else it has the first component's name, too
        library = self._component("tapeless")
        library.requires = ["xsimd::xsimd"]
        if self.options.threads == "openmp":
            library.defines = ["TAPELESS_WITH_OPENMP"]
            self._flag(library, "-fopenmp")
            self._component("openmp").requires = ["tapeless"]
        elif self.options.threads == "none":
            library.defines = ["TAPELESS_WITHOUT_THREADS"]
        else:
            self._flag(library, "-pthread")
        if self.options.with_zlib:
            zlib = self._component("zlib")
            zlib.requires = ["tapeless", "zlib::zlib"]
            zlib.defines = ["TAPELESS_WITH_ZLIB"]

    def _component(self, name):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"tapeless::{name}")
        component.set_property("pkg_config_name", "tapeless" if name == "tapeless" else f"tapeless-{name}")
        component.bindirs = []
        component.libdirs = []
        return component

    def _flag(self, component, flag):
        component.cxxflags = [flag]
        component.sharedlinkflags = [flag]
        component.exelinkflags = [flag]
