#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""check.py FOLDER --source CLONE --environment VENV (--compiler NAME=VERSION=EXECUTABLE --xsimd INCLUDE)...:
the package for Conan.

`conan create` without a remote, with each compiler and its xsimd, which stands in for a release of the remote; the
options; one package for all of it; what is refused. Conan comes from PyPI into VENV; its home is FOLDER/home.
Ends with 77 where Conan cannot be had, with 1 if TAPELESS_NO_SKIP is set.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import venv

CONAN = "conan==2.34.0"
STEADY = {"LC_ALL": "C", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


class Conan:
    def __init__(self, folder, environment):
        self.place = environment
        self.environment = {**os.environ, **STEADY, "CONAN_HOME": str(folder / "home")}
        self.program = environment / "bin/conan"

    def install(self):
        """Gets Conan from PyPI; False where that fails."""
        if self.program.exists() and CONAN.removeprefix("conan==") in self("--version"):
            return True
        venv.create(self.place, with_pip=True, clear=True)
        pip = [self.place / "bin/python", "-m", "pip", "install", "--quiet", CONAN]
        return subprocess.run(pip, stdin=subprocess.DEVNULL, env=self.environment).returncode == 0

    def run(self, *arguments, **variables):
        """Returns (exit status, what it printed, what it wrote to stdout)."""
        done = subprocess.run([self.program, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, env={**self.environment, **variables})
        return done.returncode, done.stderr + done.stdout, done.stdout

    def __call__(self, *arguments, **variables):
        status, printed, output = self.run(*arguments, **variables)
        if status != 0:
            fail(f"conan {' '.join(map(str, arguments))} ended with {status}:\n{printed}")
        return output


def fail(sentence):
    sys.exit(f"conan: {sentence}")


def version_of_xsimd(include):
    lines = (include / "xsimd/config/xsimd_config.hpp").read_text().splitlines()
    words = [line.split() for line in lines]
    found = {w[1]: w[2] for w in words if len(w) == 3 and w[1].startswith("XSIMD_VERSION_")}
    return ".".join(found[f"XSIMD_VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--environment", type=pathlib.Path, required=True)
    parser.add_argument("--xsimd", type=pathlib.Path, action="append", required=True)
    parser.add_argument("--compiler", action="append", required=True)
    given = parser.parse_args()
    folder, source = given.folder.resolve(), given.source.resolve()
    conan = Conan(folder, given.environment.resolve())
    if not conan.install():
        print(f"skipped: the package {CONAN} cannot be had from PyPI")
        sys.exit(1 if os.environ.get("TAPELESS_NO_SKIP") else 77)

    shutil.rmtree(folder, ignore_errors=True)
    conan("profile", "detect")
    conan("create", source / "tests/package/conan/zlib", "--version", "1.3.1", "--no-remote")

    # conan create with each compiler and its xsimd, older ones first: builds test_package and runs it
    steady = ["--no-remote", "-s", "compiler.cppstd=20", "-c", f"tools.cmake.cmake_layout:test_folder={folder}/test",
              "-c", "tools.cmake.cmaketoolchain:user_presets="]
    for compiler, include in zip(given.compiler, given.xsimd, strict=True):
        name, version, executable = compiler.split("=")
        xsimd = version_of_xsimd(include)
        conan("create", source / "tests/package/conan/xsimd", "--version", xsimd, "--no-remote",
              XSIMD_INCLUDE_DIR=str(include))
        settings = ["-s", f"compiler={name}", "-s", f"compiler.version={version}", "-s", "compiler.libcxx=libstdc++11",
                    "-c", f"tools.build:compiler_executables={json.dumps({'cpp': executable})}"]
        printed = conan.run("create", source, *steady, *settings)
        if printed[0] != 0 or f"xsimd/{xsimd}" not in printed[1] or "after 1000 steps" not in printed[1]:
            fail(f"conan create with {executable} and xsimd {xsimd}:\n{printed[1]}")
        print(f"create with {executable} and xsimd {xsimd}: ok")

    # the options: the targets, and with what a program is compiled that links them
    reference = next(iter(json.loads(conan("list", "tapeless/*", "--format", "json"))["Local Cache"]))
    install = ["install", "--requires", reference, *steady]
    expected = {
        "threads=std": {"tapeless": {"-pthread"}},
        "threads=none": {"tapeless": {"TAPELESS_WITHOUT_THREADS"}},
        "threads=openmp": {"tapeless": {"TAPELESS_WITH_OPENMP", "-fopenmp"},
                           "openmp": {"TAPELESS_WITH_OPENMP", "-fopenmp"}},
        "with_zlib=True": {"tapeless": {"-pthread"}, "zlib": {"-pthread", "TAPELESS_WITH_ZLIB"}},
    }
    for option, targets in expected.items():
        work = folder / option
        conan(*install, "-g", "CMakeDeps", "-g", "CMakeToolchain", "--output-folder", work,
              "-o", f"tapeless/*:{option}")
        subprocess.run(["cmake", "-S", source / "tests/package/conan/targets", "-B", work / "build",
                        "-DCMAKE_BUILD_TYPE=Release",
                        f"-DCMAKE_TOOLCHAIN_FILE={work}/conan_toolchain.cmake"], stdout=subprocess.DEVNULL, check=True)
        found = {}
        for line in (work / "build/targets.txt").read_text().splitlines():
            name, *words = line.split()
            found.setdefault(name, []).extend(words)
        flags = {name: {word for word in words if not word.startswith("/")} for name, words in found.items()}
        if flags != targets:
            fail(f"-o {option}: programs are compiled with {flags}")
        for words in found.values():
            if not any((pathlib.Path(word) / "xsimd/xsimd.hpp").exists() for word in words if word.startswith("/")):
                fail(f"-o {option}: the headers of xsimd do not come along: {found}")
        print(f"option {option}: ok")

    # headers only: one package, whatever it was made with
    listed = json.loads(conan("list", f"{reference}#latest:*", "--format", "json"))["Local Cache"]
    packages = [p for r in listed[reference]["revisions"].values() for p in r["packages"]]
    if len(packages) != 1:
        fail(f"{len(packages)} packages of {reference}: {packages}")
    print("one package: ok")

    # what is not tested is refused in words of ours
    refused = {
        "gcc 11": ["compiler=gcc", "compiler.version=11", "compiler.libcxx=libstdc++11"],
        "clang 15": ["compiler=clang", "compiler.version=15", "compiler.libcxx=libstdc++11"],
        "msvc 193": ["os=Windows", "compiler=msvc", "compiler.version=193", "compiler.runtime=dynamic"],
    }
    refused = {f"tapeless: it is not tested with {compiler}: take gcc 12 or newer, or clang 16 or newer": settings
               for compiler, settings in refused.items()}
    refused["tapeless: it is not tested on Macos"] = ["os=Macos"]
    refused["tapeless: the library is C++20: -s compiler.cppstd=20"] = ["compiler.cppstd=17"]
    for sentence, settings in refused.items():
        status, printed, _ = conan.run(*install, *[a for s in settings for a in ("-s:h", s)])
        if status == 0 or sentence not in printed:
            fail(f"{settings} is not refused:\n{printed}")
        print(f"{', '.join(settings)} is refused: ok")


main()
