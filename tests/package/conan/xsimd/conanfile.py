# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
# Stands in for the remote's xsimd: the headers below XSIMD_INCLUDE_DIR, as a package of the version that is asked for.
import os

from conan import ConanFile
from conan.tools.files import copy


class Xsimd(ConanFile):
    name = "xsimd"
    package_type = "header-library"

    def package(self):
        copy(self, "xsimd/*", src=os.environ["XSIMD_INCLUDE_DIR"], dst=os.path.join(self.package_folder, "include"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_target_name", "xsimd")
