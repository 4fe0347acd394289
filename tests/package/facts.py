#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""facts.py CLONE: what several files must state is the same in all of them: version, compilers, xsimd.

version.hpp states the version; the others repeat it because their formats ask for it.
facts.py CLONE --self-test: changes each stated number in turn; the file must be found.
"""
import json
import pathlib
import re
import sys

MAJOR, MINOR, PATCH = (rf"TAPELESS_VERSION_{part} (\d+)" for part in ("MAJOR", "MINOR", "PATCH"))
PORT = "ports/tapeless/vcpkg.json"

# fact: (file, pattern), whose groups, joined by dots, state it; every match counts
FACTS = {
    "version": [
        ("include/tapeless/version.hpp", rf"{MAJOR}[^$]*?{MINOR}[^$]*?{PATCH}"),
        (PORT, r'"version": "(\d+)\.(\d+)\.(\d+)"'),
        ("CHANGELOG.md", r"\A[^#]*# [^#]*## (\d+)\.(\d+)\.(\d+)"),
        ("README.md", r"tapeless/(\d+)\.(\d+)\.(\d+)"),
        ("docs/installation.md", r"tapeless/(\d+)\.(\d+)\.(\d+)"),
    ],
    "version of the CMake package": [
        ("include/tapeless/version.hpp", rf"{MAJOR}[^$]*?{MINOR}"),
        ("docs/installation.md", r"find_package\(tapeless (\d+)\.(\d+)"),
        ("tests/package/find_package/CMakeLists.txt", r"find_package\(tapeless (\d+)\.(\d+)"),
    ],
    "oldest g++": [
        ("include/tapeless/core/config.hpp", r"__GNUC__ < (\d+)"),
        ("include/tapeless/core/config.hpp", r"g\+\+ (\d+) or newer"),
        (".cmake/TapelessCompiler.cmake", r'"GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL (\d+)'),
        (".cmake/TapelessCompiler.cmake", r"g\+\+ (\d+) or newer"),
        ("conanfile.py", r'"gcc": "(\d+)"'),  # Conan's name of g++
        ("conanfile.py", r"gcc (\d+) or newer"),
        ("README.md", r"g\+\+ (\d+)"),
        ("docs/installation.md", r"g\+\+ (\d+) or newer"),
        ("CHANGELOG.md", r"g\+\+ (\d+) or newer"),
    ],
    "oldest clang": [
        ("include/tapeless/core/config.hpp", r"__clang_major__ < (\d+)"),
        ("include/tapeless/core/config.hpp", r"clang (\d+) or newer"),
        (".cmake/TapelessCompiler.cmake", r'"Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL (\d+)'),
        (".cmake/TapelessCompiler.cmake", r"clang (\d+) or newer"),
        ("conanfile.py", r'"clang": "(\d+)"'),
        ("conanfile.py", r"clang (\d+) or newer"),
        ("README.md", r"clang (\d+) and"),
        ("docs/installation.md", r"clang (\d+) or newer"),
        ("CHANGELOG.md", r"clang (\d+) or newer"),
    ],
    "oldest xsimd": [
        ("CMakeLists.txt", r"TapelessXsimd (\d+)\.(\d+)"),
        (".cmake/tapelessConfig.cmake.in", r"TapelessXsimd (\d+)\.(\d+)"),
        (".cmake/tapelessConfig.cmake.in", r"needs xsimd (\d+)\.(\d+)"),
        (".cmake/FindTapelessXsimd.cmake", r"needs xsimd (\d+)\.(\d+)"),
        (".cmake/tapeless.pc.in", r"xsimd >= (\d+)\.(\d+)"),
        ("ports/tapeless/portfile.cmake", r"xsimd >= (\d+)\.(\d+)"),
        ("include/tapeless/cpu/base/simd/vector.hpp", r"(?:install|take|xsimd) (\d+)\.(\d+) to \d"),
        ("include/tapeless/cpu/base/simd/vector.hpp", r"XSIMD_VERSION_MINOR < (\d)0(\d)"),
        ("conanfile.py", r"xsimd/\[>=(\d+)\.(\d+)"),
        ("README.md", r"xsimd\) (\d+)\.(\d+) to"),
        ("docs/installation.md", r"xsimd\) (\d+)\.(\d+) to"),
    ],
    "newest xsimd": [
        (".cmake/FindTapelessXsimd.cmake", r"needs xsimd [\d.]+ to (\d+)"),
        (".cmake/tapelessConfig.cmake.in", r"needs xsimd [\d.]+ to (\d+)"),
        ("include/tapeless/cpu/base/simd/vector.hpp", r"(?:install|take|xsimd) \d+\.\d+ to (\d+)"),
        ("include/tapeless/cpu/base/simd/vector.hpp", r"XSIMD_VERSION_MAJOR > (\d+)"),
        ("README.md", r"xsimd\) [\d.]+ to (\d+)"),
        ("docs/installation.md", r"xsimd\) [\d.]+ to (\d+)"),
    ],
    "first xsimd that is refused": [
        ("CMakeLists.txt", r"TapelessXsimd [\d.]+\.\.\.<(\d+)"),
        (".cmake/tapelessConfig.cmake.in", r"TapelessXsimd [\d.]+\.\.\.<(\d+)"),
        (".cmake/tapeless.pc.in", r"xsimd < (\d+)"),
        ("ports/tapeless/portfile.cmake", r"xsimd < (\d+)"),
        ("conanfile.py", r"xsimd/\[>=[\d.]+ <(\d+)\]"),
    ],
}


def breaches(read):
    """read(file) is its text. What a file does not state, or another one states differently."""
    for fact, places in FACTS.items():
        first = None
        for file, pattern in places:
            stated = [".".join(m.groups()) for m in re.finditer(pattern, read(file))]
            if not stated:
                yield f"{file}: does not state the {fact} ({pattern})"
            for value in stated:
                first = first or (file, value)
                if value != first[1]:
                    yield f"{file}: {fact} {value}, but {first[0]}: {first[1]}"
    names = [d if isinstance(d, str) else d["name"] for d in json.loads(read(PORT))["dependencies"]]
    if names != sorted(names):
        yield f"{PORT}: dependencies are not sorted: {names}"


def self_test(read):
    for places in FACTS.values():
        for file, pattern in places:
            for match in re.finditer(pattern, read(file)):
                for group in range(1, match.lastindex + 1):
                    start, end = match.span(group)
                    number = str((int(match[group]) + 1) % 10)  # one digit, as the pattern may ask
                    planted = read(file)[:start] + number + read(file)[end:]
                    found = breaches(lambda f: planted if f == file else read(f))
                    if not any(file in b and ", but " in b for b in found):
                        sys.exit(f"facts: {number} for group {group} of {pattern} in {file} was not found")


def main(clone, *options):
    texts = {}

    def read(file):
        return texts.setdefault(file, (pathlib.Path(clone) / file).read_text())

    if options == ("--self-test",):
        return self_test(read)
    found = list(breaches(read))
    print(*found, sep="\n")
    sys.exit(1 if found else 0)


main(*sys.argv[1:])
