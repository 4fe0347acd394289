#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""The pages say what the code says.

check.py                 checks *.md, include/tapeless/README.md and docs/**/*.md:
                           - each C++ block is the file or region of docs/code that the comment before it names
                           - each output block is that program's text in docs/code/expected
                           - each sentence `tapeless: ...` on a reference page stands in a header
                           - each link to a file leads to one
                           - a reference page has the fixed headings in their order
                           - each op of reference/ops.md that is called by its name stands on the page of its family
check.py --programs DIR  the same, and runs DIR/<name> for each docs/code/<name>.cpp: it prints its expected text
check.py --programs DIR --without NAME     the same, and there is no DIR/NAME
check.py --update [--programs DIR [--without NAME]]   writes the blocks, and the expected texts, instead of comparing them
check.py --self-test     plants breaches in a temporary tree; each must be found, and nothing else

  <!-- code: name.cpp -->          before ```cpp : the whole file, without its licence lines
  <!-- code: name.cpp#region -->   before ```cpp : the lines between // [region] and // [/region]
  <!-- output: name -->            before ```text: what the program prints
  <!-- begin: name --> ... <!-- end: name -->    : the same as Markdown
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HEADINGS = ["Signature", "Shapes", "Forward", "vjp", "Residuals", "Cost", "Errors", "Back ends"]
BLOCK = re.compile(r"(?:<!-- (code|output): (\S+) -->\n)?```(\w+)\n(.*?)```\n", re.S)
GENERATED = re.compile(r"<!-- begin: (\S+) -->\n(.*?)<!-- end: \1 -->\n", re.S)
OP = re.compile(r"^\| (\w+) \| \[\w+\]\((\w+\.md)\) \|", re.M)  # a row of reference/ops.md
CALLED = re.compile(r"^(?:template <.*> )?constexpr auto (\w+)\(const \w+& \w+", re.M)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")


def code_of(code, name):
    """The text that a page quotes; None where there is none."""
    name, _, region = name.partition("#")
    path = code / name
    if not path.is_file():
        return None
    text = path.read_text()
    if not region:
        return re.sub(r"\A(// SPDX.*\n)*\n*", "", text)
    found = re.search(rf"^ *// \[{re.escape(region)}\]\n(.*?)^ *// \[/{re.escape(region)}\]\n", text, re.S | re.M)
    if not found:
        return None
    lines = found[1].splitlines(keepends=True)
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "".join(line[indent:] if line.strip() else "\n" for line in lines)


def expected_of(code, name):
    path = code / "expected" / f"{name}.txt"
    return path.read_text() if path.is_file() else None


def first_difference(page, source):
    page, source = page.splitlines(), source.splitlines()
    for i in range(max(len(page), len(source))):
        a = page[i] if i < len(page) else "(nothing)"
        b = source[i] if i < len(source) else "(nothing)"
        if a != b:
            return f"line {i + 1} is {a!r}, expected {b!r}"
    return "the last line ends differently"


def sentences(include):
    """All text of the headers, adjacent string literals joined."""
    text = "".join(path.read_text() for path in sorted(include.rglob("*.hpp")))
    return re.sub(r'"\s*\n\s*"', "", text)


def check_page(root, page, headers, update):
    text = page.read_text()
    code = root / "docs/code"
    own = page.relative_to(root)
    breaches = []

    def line(match):
        return f"{own}:{text.count(chr(10), 0, match.start()) + 1}: "

    def block(match):
        kind, name, language, body = match.groups()
        if language not in ("cpp", "text"):
            return match[0]
        if kind is None:
            if language == "cpp":
                breaches.append(line(match) + "a C++ block names no file")
            return match[0]
        source = code_of(code, name) if kind == "code" else expected_of(code, name)
        if source is None:
            breaches.append(line(match) + f"{kind} {name} does not exist")
        elif source != body:
            if update:
                return f"<!-- {kind}: {name} -->\n```{language}\n{source}```\n"
            breaches.append(line(match) + f"{kind} {name} differs: " + first_difference(body, source))
        return match[0]

    def generated(match):
        source = expected_of(code, match[1])
        if source is None:
            breaches.append(line(match) + f"output {match[1]} does not exist")
        elif source != match[2]:
            if update:
                return f"<!-- begin: {match[1]} -->\n{source}<!-- end: {match[1]} -->\n"
            breaches.append(line(match) + f"output {match[1]} differs: " + first_difference(match[2], source))
        return match[0]

    new = GENERATED.sub(generated, BLOCK.sub(block, text))
    if update and new != text:
        page.write_text(new)
    prose = BLOCK.sub("", text)
    for match in LINK.finditer(prose):
        target = match[1].split("#")[0]
        if target and "://" not in target and not (page.parent / target).exists():
            breaches.append(f"{own}: {match[1]} leads nowhere")
    if own.parent == pathlib.Path("docs/reference"):
        for match in re.finditer(r"`(tapeless: [^`]*)`", prose):
            parts = [part for part in match[1].split("...") if part.strip()]
            if any(part not in headers for part in ([match[1]] if match[1] in headers else parts)):
                breaches.append(f"{own}: no header says `{match[1]}`")
        found = re.findall(r"^## (.*)$", prose, re.M)
        if found and own.name != "ops.md" and found != HEADINGS:
            breaches.append(f"{own}: the headings are {', '.join(found)}")
    if own == pathlib.Path("docs/reference/ops.md"):
        called = set(CALLED.findall(headers))
        for name, family in OP.findall(text):
            if name in called and not re.search(rf"\b{name}[(<]", BLOCK.sub("", (page.parent / family).read_text())):
                breaches.append(f"{own}: {name} is not described in {family}")
    return breaches


def run_programs(root, folder, update, without):
    breaches = []
    code = root / "docs/code"
    for source in sorted(code.glob("*.cpp")):
        if source.stem == without:
            continue
        program = folder.resolve() / source.stem
        if not program.exists():
            breaches.append(f"{program} does not exist")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            result = subprocess.run([program], cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        expected = expected_of(code, source.stem)
        if result.returncode != 0:
            breaches.append(f"{source.stem} ends with {result.returncode}: {result.stderr}")
        elif update:
            (code / "expected" / f"{source.stem}.txt").write_text(result.stdout)
        elif result.stdout != expected:
            breaches.append(f"{source.stem} prints something else: " + first_difference(expected or "", result.stdout))
    return breaches


def pages(root):
    beside = [root / "include/tapeless/README.md", *sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    return [page for page in beside if page.is_file()]


def check(root, programs=None, update=False, without=None):
    breaches = run_programs(root, programs, update, without) if programs else []
    headers = sentences(root / "include")
    for page in pages(root):
        breaches += check_page(root, page, headers, update)
    return breaches


def self_test():
    good = {
        "README.md": "[docs](docs/a.md) and [web](https://example.org)\n",
        "include/tapeless/README.md": "",
        "include/tapeless/a.hpp": 'static_assert(x, "tapeless: f(x): "\n   "x is 1");\n',
        "docs/a.md": "<!-- code: p.cpp -->\n```cpp\nint main() {}\n```\n<!-- output: p -->\n```text\n1\n```\n"
                     "<!-- begin: p -->\n1\n<!-- end: p -->\n```sh\nls\n```\n",
        "docs/reference/f.md": "".join(f"## {h}\n`tapeless: f(x): x is 1`\n" for h in HEADINGS)
                               + "<!-- code: q.cpp#r -->\n```cpp\nint x;\n```\n",
        "include/tapeless/b.hpp": "template <handle A> constexpr auto f(const A& a) { return g(a); }\n",
        "docs/reference/ops.md": "| f | [f](f.md) | kind |\n",
        "docs/code/p.cpp": "// SPDX-A\n// SPDX-B\n\nint main() {}\n",
        "docs/code/q.cpp": "void f() {\n  // [r]\n  int x;\n  // [/r]\n}\n",
        "docs/code/expected/p.txt": "1\n", "docs/code/expected/q.txt": "",
        "programs/p": "#!/bin/sh\necho 1\n", "programs/q": "#!/bin/sh\n",
    }
    planted = {
        "a changed file": ({"docs/code/p.cpp": "int main() { }\n"}, "docs/a.md:1: code p.cpp differs"),
        "a changed region": ({"docs/code/q.cpp": "// [r]\nint y;\n// [/r]\n"}, "docs/reference/f.md:17: code q.cpp#r differs"),
        "a region that is gone": ({"docs/code/q.cpp": "int x;\n"}, "docs/reference/f.md:17: code q.cpp#r does not exist"),
        "changed output": ({"docs/code/expected/p.txt": "2\n"}, ["p prints something else", "docs/a.md:5: output p differs",
                                                                 "docs/a.md:9: output p differs"]),
        "a block without a file": ({"README.md": "```cpp\nint x;\n```\n"}, "README.md:1: a C++ block names no file"),
        "a dead link": ({"README.md": "[x](docs/none.md)\n"}, "README.md: docs/none.md leads nowhere"),
        "a sentence of no header": ({"include/tapeless/a.hpp": ""},
                                    ["docs/reference/f.md: no header says `tapeless: f(x): x is 1`"] * len(HEADINGS)),
        "a heading too many": ({"docs/reference/f.md": "## Signature\n## Notes\n`f(x)`\n"},
                               "docs/reference/f.md: the headings are Signature, Notes"),
        "an op without a description": ({"docs/reference/f.md": "## Signature\n"},
                                        ["docs/reference/f.md: the headings are", "docs/reference/ops.md: f is not described in f.md"]),
        "another text": ({"programs/p": "#!/bin/sh\necho 2\n"}, "p prints something else: line 1 is '1', expected '2'"),
        "a failure": ({"programs/q": "#!/bin/sh\nexit 3\n"}, "q ends with 3"),
        "a program that is gone": ({"programs/q": None}, "programs/q does not exist"),
    }
    failed = 0
    for name, (change, wanted) in {"nothing": ({}, []), **planted}.items():
        wanted = [wanted] if isinstance(wanted, str) else wanted
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {**good, **change}.items():
                if text is None:
                    continue
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
                (root / path).chmod(0o755)
            found = check(root, root / "programs")
            if len(found) != len(wanted) or not all(w in f for w, f in zip(wanted, found)):
                failed += 1
                print(f"planted {name}: expected {wanted}, found {found}")
            if name in ("a changed file", "a changed region", "changed output", "another text"):
                check(root, root / "programs", update=True)
                check(root, root / "programs", update=True)
                if check(root, root / "programs"):
                    failed += 1
                    print(f"planted {name}: --update leaves {check(root, root / 'programs')}")
            if name == "a failure" and check(root, root / "programs", without="q"):
                failed += 1
                print(f"planted {name}: --without runs it")
    print(f"{len(planted) + 1} planted, {failed} failed")
    return failed


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        return self_test() != 0
    update = "--update" in arguments
    arguments = [a for a in arguments if a != "--update"]
    programs = without = None
    if len(arguments) in (2, 4) and arguments[0] == "--programs" and arguments[2:3] in ([], ["--without"]):
        programs, without = pathlib.Path(arguments[1]), arguments[3] if len(arguments) == 4 else None
    if arguments and programs is None:
        print(__doc__)
        return 2
    root = pathlib.Path(__file__).resolve().parent.parent
    breaches = check(root, programs, update, without)
    print("\n".join(breaches + [f"{len(pages(root))} pages, {len(breaches)} breaches"]))
    return bool(breaches)


if __name__ == "__main__":
    sys.exit(main())
