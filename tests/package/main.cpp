// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What a project that uses the library builds and runs; shared by the consumers beside this file.

#include <cstdio>

#include <tapeless/version.hpp>

int main() {
  std::printf("tapeless %d.%d.%d\n", TAPELESS_VERSION_MAJOR, TAPELESS_VERSION_MINOR, TAPELESS_VERSION_PATCH);
}
