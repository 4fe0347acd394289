#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""Misuses are refused with our sentence.

Each file is one misuse under `#ifdef TAPELESS_BAD`, its good twin without. It opens with comment lines:
  // expect: SENTENCE   the first line of the diagnostics that holds `error:` must contain it
  // extents: TEXT      (optional) stands somewhere in the diagnostics
  // within: N          (optional, 15) one of the first N lines names a line of the file below its last #include
  // flags: FLAG..      (optional) of the misuse, which is to include the library with them: any line may be named
With TAPELESS_BAD the file must not compile, without it must. --self-test plants files that must be found
wrong. A file whose first header is the umbrella takes it precompiled: the headers are most of what a small file
costs.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def header(text):
    """Reads the `// key: value` lines that open the file."""
    fields = {}
    for line in text.splitlines():
        match = re.match(r"//\s*(expect|extents|within|flags):\s*(.*\S)", line)
        if not match:
            break
        fields[match[1]] = match[2]
    return fields


def compile_(command, source, *flags):
    done = subprocess.run([*command, *flags, "-fsyntax-only", str(source)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", env={**os.environ, "LC_ALL": "C"})
    return done.returncode, (done.stdout + done.stderr).splitlines()


def names_users_line(output, source, first, last):
    """Is a line of the user's code named? The chain of `included from` stops before `first`."""
    lines = (int(n) for line in output for n in re.findall(rf"{re.escape(source.name)}:(\d+)", line))
    return any(first <= n <= last for n in lines)


UMBRELLA = "#include <tapeless/tapeless.hpp>"


def begins_with_umbrella(text):
    return next((line.strip() for line in text.splitlines() if line.lstrip().startswith("#")), None) == UMBRELLA


def precompile_umbrella(command, folder):
    """Returns the flags that put the precompiled umbrella before a file. Compilers look for X.gch beside X; here
    is no X, so that X.gch is used or an error."""
    header = folder / "umbrella.hpp"
    header.write_text(UMBRELLA + "\n")
    subprocess.run([*command, "-x", "c++-header", str(header), "-o", str(folder / "precompiled.gch")],
                   stdin=subprocess.DEVNULL, check=True)
    return ["-Winvalid-pch", "-include", str(folder / "precompiled")]


def judge(command, source, umbrella, good_twin=True):
    """Returns (what is wrong or None, the diagnostics)."""
    text = source.read_text()
    fields = header(text)
    flags = fields.get("flags", "").split()
    if begins_with_umbrella(text) and not flags:  # it is precompiled without them
        command = command + umbrella
    if "expect" not in fields:
        return "the first line is not `// expect: SENTENCE`", []
    if "TAPELESS_BAD" not in text:
        return "no TAPELESS_BAD in the file", []
    if good_twin:
        code, output = compile_(command, source)
        if code != 0:
            return "the good twin does not compile", output
    code, output = compile_(command, source, "-DTAPELESS_BAD", *flags)
    if code == 0:
        return "the misuse compiles", output
    first_error = next((line for line in output if "error:" in line), "")
    if fields["expect"] not in first_error:
        return f"the first error is not the sentence `{fields['expect']}`", output
    if "extents" in fields and not any(fields["extents"] in line for line in output):
        return f"`{fields['extents']}` is not in the diagnostics", output
    lines = text.splitlines()
    includes = [i for i, line in enumerate(lines, 1) if re.match(r"\s*#\s*include", line) and not flags]
    within = int(fields.get("within", 15))
    if not names_users_line(output[:within], source, max(includes, default=0) + 1, len(lines)):
        return f"the user's line is not named within the first {within} lines", output
    return None, output


def run(command, sources, good_twins):
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        umbrella = precompile_umbrella(command, pathlib.Path(folder))

        def judged(source):
            return judge(command, source, umbrella, good_twins)

        for source, (wrong, output) in zip(sources, pool.map(judged, sources)):
            print(f"{source.name}: {wrong or 'ok'}", flush=True)
            if wrong:
                failed += 1
                print("\n".join(f"    {line[:300]}" for line in output[:20]))
    print(f"{len(sources) - failed} passed, {failed} failed")
    return failed


def self_test(command):
    body = ("#ifdef TAPELESS_BAD\nstatic_assert(sizeof(int) == 1, \"tapeless: f(x): rule\");\n#endif\n")
    umbrella_first = f"// expect: tapeless: f(x): rule\n{UMBRELLA}\nfake i;\n" + body
    planted = {  # name: (file, what must be found)
        "right": ("// expect: tapeless: f(x): rule\n// extents: sizeof\n#include <cstddef>\n" + body, None),
        "no_header": (body, "the first line is not `// expect: SENTENCE`"),
        "no_misuse": ("// expect: x\nint i;\n", "no TAPELESS_BAD in the file"),
        "bad_twin": ("// expect: tapeless: f(x): rule\nint i = ;\n" + body, "the good twin does not compile"),
        "accepted": ("// expect: x\n#ifdef TAPELESS_BAD\n#endif\n", "the misuse compiles"),
        "other": ("// expect: tapeless: g(x): rule\n" + body,
                  "the first error is not the sentence `tapeless: g(x): rule`"),
        "late": ("// expect: tapeless: f(x): rule\n" + body.replace("static", "int i = j;\nstatic"),
                 "the first error is not the sentence `tapeless: f(x): rule`"),
        "extents": ("// expect: tapeless: f(x): rule\n// extents: 64 == 32\n" + body,
                    "`64 == 32` is not in the diagnostics"),
        "elsewhere": ("// expect: tapeless: f(x): rule\n#include \"body.inc\"\n// TAPELESS_BAD\n",
                      "the user's line is not named within the first 15 lines"),
        "umbrella": (umbrella_first, None),
        "flags": ("// expect: tapeless: f(x): rule\n// flags: -fno-rtti\n#include <cstddef>\n#ifdef __GXX_RTTI\n"
                  "#undef TAPELESS_BAD\n#endif\n" + body, None),
        "not_precompiled": (umbrella_first, "the good twin does not compile"),
    }
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "body.inc").write_text(body)
        (folder / "tapeless").mkdir()
        (folder / "tapeless" / "tapeless.hpp").write_text("#pragma once\nusing fake = int;\n")
        command = [command[0], f"-I{folder}", *command[1:]]
        umbrella = precompile_umbrella(command, folder)
        for name, (text, expected) in planted.items():
            source = folder / f"{name}.cpp"
            source.write_text(text)
            found = judge(command, source, ["-include", "nowhere"] if name == "not_precompiled" else umbrella)[0]
            if found != expected:
                failed += 1
                print(f"planted {name}: expected {expected}, found {found}")
    print(f"{len(planted) - failed} passed, {failed} failed")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--system-include", action="append", default=[])
    parser.add_argument("--misuses-only", action="store_true", help="no good twins: another compiler checks them")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    command = [args.compiler, "-std=c++20", "-fdiagnostics-color=never"]
    command += [f"-I{path}" for path in args.include]
    # -isystem /usr/include would break #include_next of the standard library
    command += [f"-isystem{path}" for path in args.system_include if path != "/usr/include"]
    if args.self_test:
        return self_test(command) != 0
    if not args.files:
        parser.error("no files")
    return run(command, args.files, not args.misuses_only) != 0


if __name__ == "__main__":
    sys.exit(main())
