# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
# Stands in for the remote's zlib: that of the system.
from conan import ConanFile


class Zlib(ConanFile):
    name = "zlib"

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.includedirs = self.cpp_info.libdirs = []
        self.cpp_info.system_libs = ["z"]
