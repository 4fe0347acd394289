#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""A header includes the headers of the library whose names it uses, and no others.

includes.py DIR [HEADER...]   checks the headers under DIR, or these of them; prints each breach with file and line
includes.py --fix DIR ...     writes what is missing, takes out what is not used
includes.py --flag=-march=A --flag=-march=B DIR   for both machines: a header may need more on one of them
includes.py --self-test       plants breaches in a temporary tree; each must be found, and nothing else

What a header passes on is marked there: `#include "node.hpp" // IWYU pragma: export`. Headers of the standard library are
not looked at. clang-tidy's misc-include-cleaner finds the names. Those that a template looks up when it is instantiated it
cannot know: a header is used, too, where one of its names is written. `keep` in place of `export` marks what no name shows.
A header that needs the CUDA toolkit is left out where that is not.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CONDITION = re.compile(r"^\s*#\s*(if|elif)", re.M)
WARNING = re.compile(r"^(\S+?):(\d+):\d+: warning: (no header providing \"(?P<name>[^\"]+)\" is directly included|"
                     r"included header (?P<unused>\S+) is not used directly)", re.M)
MISSING = re.compile(r"Message: +'no header providing \"([^\"]+)\".*?Replacements:(.*?)Level:", re.S)
INSERTED = re.compile(r'ReplacementText: +"#include \\"tapeless/([^\\]+)\\"')
OWN = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
OF_TOOLKIT = re.compile(r"error: '(cu\w+|nvrtc)\.h' file not found")
DECLARED = re.compile(r"^(?!\s|//|#).*?(?:\b(?:struct|class|concept|using|enum class|namespace)\s+(\w+)|\b(\w+)\s*(?:\(|=|\{))", re.M)


def writes_a_name_of(header, included):
    names = {name for match in DECLARED.finditer(included.read_text()) for name in match.groups() if name}
    return bool((names - {"tapeless", "detail", "cpu", "if"}) & set(re.findall(r"\w+", re.sub(r"#include.*|//.*", "", header.read_text()))))


def exported(header):
    """The headers that one passes on, itself among them."""
    found = {header}
    passing = False
    for line in header.read_text().splitlines():
        passing = (passing or "begin_exports" in line) and "end_exports" not in line
        own = OWN.match(line)
        if own and (passing or line.endswith("IWYU pragma: export")):
            found |= exported((header.parent / own[1]).resolve())
    return found


def inspect(root, header, options):
    """What all variants say together: missing in any, not used in all. A header without conditions is the same in all."""
    missing, unused = {}, None
    variants = options.flag or ["-std=c++20"]
    for flag in variants if CONDITION.search(header.read_text()) else variants[-1:]:
        more, idle, error = inspect_one(root, header, options, flag)
        if error:
            return {}, {}, error
        missing |= more
        unused = idle if unused is None else {line: own for line, own in unused.items() if line in idle}
    return missing, unused, None


def inspect_one(root, header, options, flag):
    """Returns {header of the library: (line, a name of it)} that is missing, {line: header} that is not used, and an error."""
    with tempfile.TemporaryDirectory() as folder:
        fixes = pathlib.Path(folder) / "fixes.yaml"
        command = [options.tidy, "--checks=-*,misc-include-cleaner", '--config={Checks: "-*"}',
                   f"--export-fixes={fixes}", str(header), "--", "-x", "c++", "-std=c++20", f"-I{root.parent}"]
        # Before the compiler's own folders, /usr/include hides the C headers that those of C++ include next.
        command += [f"-isystem{path}" for path in options.system_include if path != "/usr/include"]
        result = subprocess.run(command + [flag], capture_output=True, text=True, check=False)
        if OF_TOOLKIT.search(result.stdout):
            return {}, {}, None
        if "error:" in result.stdout + result.stderr:
            return {}, {}, (re.findall(r"^.*error:.*", result.stdout, re.M) or ["clang-tidy: " + result.stderr])[0]
        text = fixes.read_text() if fixes.exists() else ""
    lines, unused = {}, {}
    for match in WARNING.finditer(result.stdout):
        if pathlib.Path(match[1]).resolve() != header:
            continue
        line = int(match[2])
        if match["name"]:
            lines.setdefault(match["name"], line)
        else:
            own = OWN.match(header.read_text().splitlines()[line - 1])
            if own and not writes_a_name_of(header, header.parent / own[1]):
                unused[line] = own[1]
    missing = {}
    for name, replacements in MISSING.findall(text):
        inserted = INSERTED.search(replacements)
        if inserted:
            missing[inserted[1]] = (lines[name], name)
    return missing, unused, None


def order(include):
    """Own includes stand from the rooms above down to the own one."""
    return (-include.count("../"), include)


def mend(root, header, missing, unused):
    text = header.read_text().splitlines()
    for line in sorted(unused, reverse=True):
        del text[line - 1]
    at = [i for i, line in enumerate(text) if OWN.match(line)]
    if not at:
        any_include = [i for i, line in enumerate(text) if line.startswith(("#include", "#pragma once"))]
        at = [any_include[-1] + 1]
        first, last = at[0], at[0]
    else:
        first = last = at[0]
        while last < len(text) and OWN.match(text[last]):
            last += 1
    block = text[first:last]
    block += [f'#include "{os.path.relpath(root / name, header.parent)}"' for name in missing]
    included = {line: (header.parent / OWN.match(line)[1]).resolve() for line in block}
    block = [line for line in included if "IWYU" in line or
             not any(included[line] in exported(included[other]) for other in included if other != line)]
    block.sort(key=lambda line: order(OWN.match(line)[1]))
    header.write_text("\n".join(text[:first] + block + text[last:]) + "\n")


def check(root, headers, options):
    root = root.resolve()
    headers = headers or sorted(root.rglob("*.hpp"))
    breaches = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda header: inspect(root, header.resolve(), options), headers))
    for header, (missing, unused, error) in zip(headers, found):
        own = header.resolve().relative_to(root)
        if error:
            breaches.append(f"{own}: does not compile: {error}")
        breaches += [f"{own}:{line}: uses {name} of {to}, which it does not include"
                     for to, (line, name) in missing.items()]
        breaches += [f"{own}:{line}: includes {to} and uses nothing of it" for line, to in unused.items()]
        if options.fix and (missing or unused):
            mend(root, header.resolve(), missing, unused)
    return breaches, len(headers)


def self_test(options):
    good = {"core/a.hpp": "struct a {};\n", "core/b.hpp": '#include "a.hpp"\nstruct b : a {};\n',
            "core/passed_on.hpp": '#include "b.hpp" // IWYU pragma: export\n',
            "run/c.hpp": '#include <cstddef>\n#include "../core/b.hpp"\nstruct c : b {};\n',
            "run/d.hpp": '#include "../core/passed_on.hpp"\nstruct d : b {};\n',
            "run/toolkit.hpp": "#include <cu_of_no_machine.h>\nstruct toolkit {};\n"}
    planted = {
        "run/lucky.hpp": ('#include "../core/b.hpp"\nstruct lucky : b {\n  a one;\n};\n',
                          "run/lucky.hpp:4: uses a of core/a.hpp, which it does not include"),
        "run/idle.hpp": ('#include "../core/a.hpp"\n', "run/idle.hpp:2: includes ../core/a.hpp and uses nothing of it"),
        "run/wide.hpp": ('#include "../core/b.hpp"\n#ifdef WIDE\nstruct wide : b {\n  a one;\n};\n#else\nstruct wide : b {};\n#endif\n',
                         "run/wide.hpp:5: uses a of core/a.hpp, which it does not include"),
    }
    options.flag = ["-DNARROW", "-DWIDE"]
    failed = 0
    for name, (text, expected) in {"": ("", None), **planted}.items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder) / "tapeless"
            for file, content in {**good, **({name: text} if name else {})}.items():
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text("#pragma once\n" + content)
            found = check(root, [], options)[0]
            if found != ([expected] if expected else []):
                failed += 1
                print(f"planted {name or 'nothing'}: expected {expected}, found {found}")
            options.fix = True
            check(root, [], options)
            options.fix = False
            left = check(root, [], options)[0]
            if left:
                failed += 1
                print(f"planted {name or 'nothing'}: left after --fix: {left}")
    print(f"{len(planted) + 1 - failed} passed, {failed} failed")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--tidy", default="clang-tidy-19")
    parser.add_argument("--system-include", action="append", default=[])
    parser.add_argument("--flag", action="append", default=[], help="of a variant; each is read by itself")
    options = parser.parse_args()
    if options.self_test:
        return self_test(options)
    breaches, headers = check(options.paths[0], options.paths[1:], options)
    print("\n".join(breaches + [f"{headers} headers, {len(breaches)} breaches"]))
    return len(breaches)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
