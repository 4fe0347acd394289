#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""What the kernels of products and convolutions take to compile: the table of docs/explanation/compile_time.md.

Prints for each kernel and pass, in float, the processor seconds beyond those of the headers, and KB of code.
Kernels: those named, else all of `enum class conv_kernel`, and matmul.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from run import compile_

HEAD = """#include <tapeless/cpu/conv/conv.hpp>
using namespace tapeless;
using namespace tapeless::cpu;
"""
MATMUL = """
void run(const matmul_extents& e, const float* a, const float* b, float* c, float* each, float* shared, float* packed) {
  matmul_pack<float>(serial_team{}, e, b, packed);
  matmul<float>(serial_team{}, e, a, b, c, each, shared, packed);
}
"""
CONV = """
void run(const conv_extents& e, const float* a, const float* b, float* c, float* each, float* packed) {
  constexpr auto pass = conv_pass::%s;
  constexpr auto kernel = conv_kernel::%s;
  conv2d_pack<pass, kernel, simd<float>>(serial_team{}, e, b, packed);
  conv2d_run<pass, kernel, simd<float>>(serial_team{}, e, a, b, c, {packed, each, packed});
}
"""


TAKEN = {"narrow_groups": ["wgrad"]}  # the passes of a kernel that does not take all three


def kernels_of(include):
    text = (include / "tapeless/cpu/conv/kernels.hpp").read_text()
    body = re.search(r"enum class conv_kernel[^{]*\{(.*?)\};", text, re.S)[1]
    return ["matmul"] + re.findall(r"^\s*(\w+),", body, re.M)


def sources_of(kernel):
    """Yields (title, source behind the headers) of each pass."""
    if kernel == "matmul":
        yield kernel, MATMUL
        return
    for each in TAKEN.get(kernel, ["fprop", "dgrad", "wgrad"]):
        yield f"{kernel} {each}", CONV % (each, kernel)


def measured(command, folder, source):
    """Returns (processor seconds, KB of code)."""
    (folder / "kernel.cpp").write_text(source)
    target = folder / "kernel.o"
    status, seconds, _, text = compile_(command + ["-c", str(folder / "kernel.cpp"), "-o", str(target)])
    if status != 0:
        sys.exit(text)
    sizes = subprocess.run(["size", str(target)], capture_output=True, text=True, check=True).stdout
    return seconds, int(sizes.splitlines()[1].split()[0]) / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--include", action="append", type=pathlib.Path, required=True,
                        help="first that of tapeless, then further ones")
    parser.add_argument("--flags", default="-O2 -march=native")
    parser.add_argument("kernels", nargs="*")
    options = parser.parse_args()
    command = [options.compiler, "-std=c++20", *options.flags.split(), *(f"-I{i}" for i in options.include)]
    known = kernels_of(options.include[0])
    for kernel in [*TAKEN, *options.kernels]:
        if kernel not in known:
            parser.error(f"{kernel} is none of {', '.join(known)}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        headers, _ = measured(command, folder, HEAD)
        print(f"headers: {headers:.1f} s")
        for kernel in options.kernels or known:
            for title, source in sources_of(kernel):
                seconds, size = measured(command, folder, HEAD + source)
                print(f"{title}: {seconds - headers:.1f} s, {size:.0f} KB", flush=True)


if __name__ == "__main__":
    main()
