#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""What each stage of a program takes to compile: the table of docs/explanation/compile_time.md.

stages.py --include include [--blocks 20] [--compiler g++]

Compiles the network of residual.hpp up to each pass (plan/pipeline.hpp) and prints the processor seconds that each adds.
"""
import argparse
import pathlib
import sys
import tempfile

from run import compile_

PASSES = """
using namespace tapeless::detail;
using passes = pipeline<backend_of<%(types)s>, grad_fn<true, residual::loss_of_arrays, 0>, %(types)s>;
static_assert(passes::%(name)s::value.size > 0);
"""
PLAN = """
using namespace tapeless::detail;
static_assert(planned<grad_fn<true, residual::loss_of_arrays, 0>, %(types)s>::value.steps > 0);
"""
RUN = """
float run() { return residual::run_arrays<%(blocks)s>(); }
"""
STAGES = [("headers", "", False), ("trace and adjoint", PASSES, False), ("rows", PASSES, False), ("guards", PASSES, False),
          ("layouts", PASSES, False), ("plan", PLAN, False), ("templates of a run", RUN, False), ("machine code", RUN, True)]
NAMES = {"trace and adjoint": "traced", "rows": "rows_selected", "guards": "guarded", "layouts": "laid_out"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    here = pathlib.Path(__file__).resolve().parent
    flags = ["-std=c++20", "-O2", f"-I{here}", *(f"-I{path}" for path in options.include)]
    before = 0.0
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "stage.cpp"
        for stage, text, whole in STAGES:
            fill = {"types": f"residual::params<{options.blocks}>, residual::images", "blocks": options.blocks,
                    "name": NAMES.get(stage, "")}
            source.write_text('#include "residual.hpp"\n' + text % fill)
            seconds = []
            for _ in range(options.repetitions):
                status, time, _, output = compile_([options.compiler, *flags, *(["-c"] if whole else ["-fsyntax-only"]),
                                                    str(source), "-o", f"{folder}/stage.o"])
                if status != 0:
                    sys.exit(output)
                seconds.append(time)
            print(f"{stage:20} {min(seconds) - before:6.2f} s")
            before = min(seconds)


if __name__ == "__main__":
    main()
