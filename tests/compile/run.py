#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""Compile budgets.

Each file opens with comment lines:
  // budget: 15 s, 1000 MB      limits for one compilation, -O2: processor time, and memory of the compiler
  // instantiations: 12000      (optional) limit for the templates that the counting compiler (clang) instantiates
Of up to three compilations the fastest counts: what else the machine does only adds time.
Seconds are multiplied by TAPELESS_BUDGET_SCALE (1) from the environment, for slower machines.
--self-test plants files that break each limit.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def limits(text):
    """Returns (seconds, megabytes, instantiations or None) from the lines that open the file."""
    budget = re.match(r"// budget: ([\d.]+) s, (\d+) MB\n", text)
    if not budget:
        return None
    count = re.match(r"// instantiations: (\d+)\n", text[budget.end():])
    return float(budget[1]), int(budget[2]), int(count[1]) if count else None


def compile_(command):
    """Returns (exit status, processor seconds, MB, diagnostics), with what the driver's children use."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        text = log.read().decode(errors="replace")
    return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text


def count_instantiations(compiler, flags, source):
    with tempfile.TemporaryDirectory() as folder:
        status, _, _, text = compile_([compiler, *flags, "-ftime-trace", "-ftime-trace-granularity=0",
                                       "-c", str(source), "-o", f"{folder}/unit.o"])
        if status != 0:
            return None, text
        # Counted outside: what this process holds in memory, the next compiler it starts is charged with.
        found = subprocess.run(["grep", "-oE", '"name": ?"Instantiate(Class|Function)"', f"{folder}/unit.json"],
                               stdout=subprocess.PIPE, check=False)
    return found.stdout.count(b"\n"), ""


def judge(args, source):
    """Returns (the measured figures, what is over its limit)."""
    limit = limits(source.read_text())
    if not limit:
        return "", ["the first line is not `// budget: N s, N MB`"]
    flags = ["-std=c++20", "-O2"]
    flags += [f"-I{path}" for path in args.include if path != "/usr/include"]
    seconds = float("inf")
    for _ in range(3):
        status, again, memory, text = compile_([args.compiler, *flags, "-c", str(source), "-o", os.devnull])
        if status != 0:
            return "", ["does not compile\n" + text[:3000]]
        seconds = min(seconds, again)
        if seconds <= limit[0]:
            break
    figures, over = f"{seconds:.2f} of {limit[0]} s, {memory:.0f} of {limit[1]} MB", []
    if seconds > limit[0] * float(os.environ.get("TAPELESS_BUDGET_SCALE", 1)):
        over.append("too slow")
    if memory > limit[1]:
        over.append("too much memory")
    if limit[2] is not None:
        count, text = count_instantiations(args.counting_compiler, flags, source)
        figures += f", {count} of {limit[2]} instantiations"
        if count is None:
            over.append("does not compile\n" + text[:3000])
        elif count > limit[2]:
            over.append("too many instantiations")
    return figures, over


def run(args):
    failed = 0
    for source in args.files:
        figures, over = judge(args, source)
        failed += bool(over)
        print(f"{source.name}: {', '.join(over) or 'ok'}{'; ' if figures else ''}{figures}", flush=True)
    print(f"{len(args.files) - failed} passed, {failed} failed")
    return failed


def self_test(args):
    body = "template <int N> struct s { s<N - 1> next; };\ntemplate <> struct s<0> {};\ns<100> x;\n"
    planted = {
        "// budget: 60 s, 4000 MB\n// instantiations: 100\n" + body: [],
        "// budget: 0.0 s, 4000 MB\n" + body: ["too slow"],
        "// budget: 60 s, 1 MB\n" + body: ["too much memory"],
        "// budget: 60 s, 4000 MB\n// instantiations: 99\n" + body: ["too many instantiations"],
        body: ["the first line is not `// budget: N s, N MB`"],
    }
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "planted.cpp"
        for text, expected in planted.items():
            source.write_text(text)
            figures, over = judge(args, source)
            if over != expected:
                failed += 1
                print(f"expected {expected}, found {over} ({figures}) for\n{text}")
    print(f"{len(planted) - failed} passed, {failed} failed")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--counting-compiler", required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    if args.self_test:
        return self_test(args) != 0
    if not args.files:
        parser.error("no files")
    return run(args) != 0


if __name__ == "__main__":
    sys.exit(main())
