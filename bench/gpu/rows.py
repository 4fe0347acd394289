# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""The rows of bench/workloads.def: rows("CONV") is a list of dictionaries, as {"name": "conv-square-n1", "n": 1, ...}."""
import ast
import pathlib
import re

TABLE = pathlib.Path(__file__).resolve().parent.parent / "workloads.def"


def rows(kind):
    found = []
    for name, fields in re.findall(rf'^TAPELESS_{kind}\("([^"]+)",(.*)\)$', TABLE.read_text(), re.M):
        text = re.sub(r"\.(\w+)\s*=\s*", r'"\1": ', fields)  # .n = 1 -> "n": 1
        text = re.sub(r'"layers": \{(.*)\}', r'"layers": [\1]', text)
        text = re.sub(r'"dims": \{([^}]*)\}', r'"dims": [\1]', text)
        found.append({"name": name, **ast.literal_eval("{" + text.replace(": true", ": True") + "}")})
    return found
