#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""The graph of the rooms of headers is acyclic and goes one way: the rules are in include/tapeless/layers.txt. Rooms
and headers are small.

check.py DIR          checks the headers under DIR; prints each breach with file and line
check.py --self-test  plants breaches in a temporary tree; each must be found, and nothing else
"""
import collections
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
VENDORS = ((re.compile(r"xsimd/"), "cpu"), (re.compile(r"(cu(da|blas|dnn|sparse)|nccl)"), "cuda"),
           (re.compile(r"mpi\.h$"), "mpi"))  # these headers are seen by one folder only
LEAVES = {"version.hpp"}  # headers beside the folders that everybody may include; the others are umbrellas
MOST_HEADERS = 12  # of a room within plan/ or cpu/
MOST_LINES = 400  # of a header


def read_layers(path):
    """Returns the level of each room and the rooms that each may not see."""
    level, forbidden = {}, {}
    rows = [line.split("#")[0].split() for line in path.read_text().splitlines()]
    for i, row in enumerate(row for row in rows if row):
        names = [word for word in row if not word.startswith("!")]
        for name in names:
            level[name] = i
            forbidden[name] = {word[1:] for word in row if word.startswith("!")} | (set(names) - {name})
    return level, forbidden


def is_within(room, folder):
    return room == folder or room.startswith(folder + "/")


def may_see(room, to, forbidden):
    """Neither the room nor a folder that it is in forbids the other room."""
    return not any(is_within(room, folder) and is_within(to, other)
                   for folder, others in forbidden.items() for other in others)


def includes(root, header):
    """Yields (line number, vendor header) and (line number, our header relative to root, exists)."""
    for number, line in enumerate(header.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, name = match.groups()
        if name.startswith("tapeless/"):
            target = root / name.removeprefix("tapeless/")
        elif quote == '"':
            target = (header.parent / name).resolve()
        else:
            yield number, name, None
            continue
        known = target.is_relative_to(root) and target.is_file()
        yield number, target.relative_to(root) if known else name, known


def find_cycle(graph):
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for following in graph.get(node, ()):
            cycle = visit(following)
            if cycle:
                return cycle
        path.pop()
        done.add(node)
        return None

    for node in graph:
        cycle = visit(node)
        if cycle:
            return cycle
    return None


def room_of(header):
    return "/".join(header.parts[:-1])


def has_rooms(folder, level):
    return any(other != folder and is_within(other, folder) for other in level)


def check(root):
    root = root.resolve()
    level, forbidden = read_layers(root / "layers.txt")
    breaches, graph = [], {}
    headers = sorted(path for path in root.rglob("*") if path.suffix in (".hpp", ".cuh"))
    for header in headers:
        own = header.relative_to(root)
        folder = room_of(own)
        if folder and folder not in level:
            breaches.append(f"{own}: the folder {folder}/ is not in layers.txt")
            continue
        graph[own] = []
        length = len(header.read_text().splitlines())
        if length > MOST_LINES:
            breaches.append(f"{own}: {length} lines; a header has at most {MOST_LINES}")
        for number, target, known in includes(root, header):
            where = f"{own}:{number}: "
            if known is None:
                for vendor, only in VENDORS:
                    if vendor.match(target) and not is_within(folder, only):
                        breaches.append(f"{where}<{target}> is for {only}/ only")
                continue
            if not known:
                breaches.append(f"{where}{target} is no header of the library")
                continue
            graph[own].append(target)
            to = room_of(target)
            if not to:
                if target.name not in LEAVES and folder:
                    breaches.append(f"{where}{folder}/ includes the umbrella {target}")
            elif folder and to != folder and to in level:
                if not may_see(folder, to, forbidden):
                    breaches.append(f"{where}{folder}/ may not include {to}/")
                elif level[to] > level[folder]:
                    breaches.append(f"{where}{folder}/ includes {to}/, which stands below it")
    sizes = collections.Counter(room_of(header) for header in graph)
    for room, size in sizes.items():
        if size > MOST_HEADERS and has_rooms(room.split("/")[0], level):
            breaches.append(f"{room}/ holds {size} headers; a room of a folder with rooms has at most {MOST_HEADERS}")
    cycle = find_cycle(graph)
    if cycle:
        breaches.append("cycle: " + " -> ".join(map(str, cycle)))
    return breaches, len(headers)


def self_test():
    good = {
        "version.hpp": "", "all.hpp": "#include <tapeless/run/r.hpp>\n#include <tapeless/cpu/k.hpp>",
        "core/c.hpp": "#include <vector>\n#include <tapeless/version.hpp>", "core/d.hpp": '#include "c.hpp"',
        "cpu/k.hpp": "#include <xsimd/xsimd.hpp>\n#include <tapeless/core/c.hpp>",
        "mpi/m.hpp": "#include <mpi.h>", "run/r.hpp": '#include "../core/d.hpp"',
        "cpu/base/b.hpp": "#include <xsimd/xsimd.hpp>", "cpu/one/o.hpp": '#include "../base/b.hpp"',
        "cpu/two/t.hpp": '#include "../../core/c.hpp"', "cpu/all.hpp": '#include "one/o.hpp"\n#include "two/t.hpp"',
    }
    planted = {  # file: (text, what must be reported)
        "core/up.hpp": ("\n#include <tapeless/run/r.hpp>",
                        "core/up.hpp:2: core/ includes run/, which stands below it"),
        "cpu/side.hpp": ("#include <tapeless/mpi/m.hpp>", "cpu/side.hpp:1: cpu/ may not include mpi/"),
        "run/kernel.hpp": ('#include "../cpu/k.hpp"', "run/kernel.hpp:1: run/ may not include cpu/"),
        "core/whole.hpp": ("#include <tapeless/all.hpp>",
                           "core/whole.hpp:1: core/ includes the umbrella all.hpp"),
        "core/simd.hpp": ("  #  include <xsimd/xsimd.hpp>",
                          "core/simd.hpp:1: <xsimd/xsimd.hpp> is for cpu/ only"),
        "core/gone.hpp": ('#include "none.hpp"', "core/gone.hpp:1: none.hpp is no header of the library"),
        "new/n.hpp": ("", "new/n.hpp: the folder new/ is not in layers.txt"),
        "cpu/one/side.hpp": ('#include "../two/t.hpp"', "cpu/one/side.hpp:1: cpu/one/ may not include cpu/two/"),
        "cpu/base/up.hpp": ('#include "../one/o.hpp"',
                            "cpu/base/up.hpp:1: cpu/base/ includes cpu/one/, which stands below it"),
        "cpu/two/top.hpp": ('#include "../k.hpp"', "cpu/two/top.hpp:1: cpu/two/ includes cpu/, which stands below it"),
        "mpi/deep.hpp": ("#include <tapeless/cpu/base/b.hpp>", "mpi/deep.hpp:1: mpi/ may not include cpu/base/"),
        "run/deep.hpp": ('#include "../cpu/one/o.hpp"', "run/deep.hpp:1: run/ may not include cpu/one/"),
        "cpu/three/n.hpp": ("", "cpu/three/n.hpp: the folder cpu/three/ is not in layers.txt"),
        "core/long.hpp": ("\n" * (MOST_LINES + 1),
                          f"core/long.hpp: {MOST_LINES + 1} lines; a header has at most {MOST_LINES}"),
        "core/loop.hpp": ('#include "loop.hpp"', "cycle: core/loop.hpp -> core/loop.hpp"),
    }

    def run(files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "layers.txt").write_text("# order\ncore\ncpu/base\ncpu/one cpu/two\ncpu mpi\nrun !cpu !mpi\n")
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check(root)[0]

    many = {f"cpu/one/n{i}.hpp": "" for i in range(MOST_HEADERS)}
    found = run({**good, **many})
    failed = 0 if len(found) == 1 and found[0].startswith("cpu/one/ holds ") else 1
    if failed:
        print(f"a room of too many headers: found {found}")
    for name, (text, expected) in {"": ("", None), **planted}.items():
        found = run({**good, **({name: text} if name else {})})
        if found != ([expected] if expected else []):
            failed += 1
            print(f"planted {name or 'nothing'}: expected {expected}, found {found}")
    print(f"{len(planted) + 2 - failed} passed, {failed} failed")
    return failed


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test() != 0
    breaches, count = check(pathlib.Path(sys.argv[1]))
    print("\n".join(breaches + [f"{count} headers, {len(breaches)} breaches"]))
    return bool(breaches) or count == 0


if __name__ == "__main__":
    sys.exit(main())
