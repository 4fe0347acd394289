#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""facts.py CLONE: what several files must state is the same in all of them: version, compilers, xsimd.

version.hpp states the version; the others repeat it because their formats ask for it.
facts.py CLONE --self-test: each of these files with another number must be found.
"""
import json
import pathlib
import re
import sys

MAJOR, MINOR, PATCH = (rf"TAPELESS_VERSION_{part} (\d+)" for part in ("MAJOR", "MINOR", "PATCH"))

# fact: (file, pattern) whose groups, joined by dots, state it; every match counts
FACTS = {
    "version": [
        ("include/tapeless/version.hpp", rf"{MAJOR}[^$]*?{MINOR}[^$]*?{PATCH}"),
        ("ports/tapeless/vcpkg.json", r'"version": "(\d+)\.(\d+)\.(\d+)"'),
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
        ("conanfile.py", r'"gcc": "(\d+)"'),
        ("conanfile.py", r"gcc (\d+) or newer"),
        ("README.md", r"g\+\+ (\d+)"),
    ],
    "oldest clang": [
        ("include/tapeless/core/config.hpp", r"__clang_major__ < (\d+)"),
        ("include/tapeless/core/config.hpp", r"clang (\d+) or newer"),
        (".cmake/TapelessCompiler.cmake", r'"Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL (\d+)'),
        (".cmake/TapelessCompiler.cmake", r"clang (\d+) or newer"),
        ("conanfile.py", r'"clang": "(\d+)"'),
        ("conanfile.py", r"clang (\d+) or newer"),
        ("README.md", r"clang (\d+) "),
    ],
    "oldest xsimd": [
        ("CMakeLists.txt", r"TapelessXsimd (\d+)\.(\d+)"),
        (".cmake/tapelessConfig.cmake.in", r"TapelessXsimd (\d+)\.(\d+)"),
        (".cmake/FindTapelessXsimd.cmake", r"needs xsimd (\d+)\.(\d+)"),
        (".cmake/tapeless.pc.in", r"xsimd >= (\d+)\.(\d+)"),
        ("conanfile.py", r"xsimd/\[>=(\d+)\.(\d+)"),
        ("README.md", r"xsimd\) (\d+)\.(\d+) to"),
    ],
    "first xsimd too new": [
        ("CMakeLists.txt", r"TapelessXsimd [\d.]+\.\.\.<(\d+)"),
        (".cmake/tapelessConfig.cmake.in", r"TapelessXsimd [\d.]+\.\.\.<(\d+)"),
        (".cmake/tapeless.pc.in", r"xsimd < (\d+)"),
        ("conanfile.py", r"xsimd/\[>=[\d.]+ <(\d+)\]"),
    ],
}


def breaches(read):
    """read(file) is its text. What two files state differently, or do not state."""
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
    dependencies = [d if isinstance(d, str) else d["name"] for d in json.loads(read("ports/tapeless/vcpkg.json"))["dependencies"]]
    if dependencies != sorted(dependencies):
        yield f"ports/tapeless/vcpkg.json: dependencies are not sorted: {dependencies}"


def self_test(read):
    """Each number that a pattern finds is changed; the breach must name its file or the one that it is compared with."""
    for places in FACTS.values():
        for file, pattern in places:
            found = re.search(pattern, read(file))
            start = found.start(found.lastindex)
            planted = read(file)[:start] + "7" + read(file)[start:]
            if not any(file in b for b in breaches(lambda f: planted if f == file else read(f))):
                sys.exit(f"facts: another number for {pattern} in {file} was not found")


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
