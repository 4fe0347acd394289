#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""ratios.py gpu.jsonl: what the lines of one run say of each other, beside what is to be reached.

{"what": "ratio", "workload": .., "phase": .., "to": PEER, "ratio": our median / the peer's, "bar": .., "holds": ..}
A later line of the same program, phase and peer counts. Without lines of PyTorch the ratios to it are not there.
"""
import json
import sys

GRAPH = "torch-gpu-graph"


def bar_of(workload, phase):
    """The largest ratio of a whole step to PyTorch's graph."""
    if phase == "step" and workload.startswith("conv-"):
        return 0.7 if workload == "conv-masked" else 0.95
    if phase == "step" and workload in ("distill-a", "distill-b"):
        return 0.7
    return 0.6 if (workload, phase) in (("ohem-mlp", "step_topk"), ("small-mlp", "step_all")) else None


def say(**fields):
    bar, ratio = fields.get("bar"), fields["ratio"]
    if bar is not None:
        fields["holds"] = ratio >= bar if fields.get("at_least") else ratio <= bar
    print(json.dumps({"what": "ratio", "stage": "ratios", **fields}), flush=True)


def read(path):
    times, gigabytes, copy = {}, {}, None
    with open(path, encoding="utf-8") as lines:
        for text in lines:
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                continue  # of a program that was ended amid a line
            if line.get("limit") == "copy_GBs":
                copy = line["value"]
            if line.get("what") != "time" or not line.get("median_ms"):
                continue
            key = line["workload"], line["phase"], line["peer"]
            times[key] = line["median_ms"]
            gigabytes[key] = line.get("GBs")
    return times, gigabytes, copy


def main():
    times, gigabytes, copy = read(sys.argv[1])
    for (workload, phase, peer), ours in sorted(times.items()):
        if peer != "tapeless-gpu-graph" or workload.startswith("check-"):
            continue
        is_sparse = workload.startswith("sparse-")
        of_peer = phase.removesuffix("_loaded")
        for to in (GRAPH, "torch-gpu-eager", "torch-gpu-compile", "tapeless-gpu-own-graph"):
            theirs = times.get((workload, of_peer, to))
            if theirs is None:
                continue
            if is_sparse:
                bar = {"bar": 1 / 15} if to == "torch-gpu-eager" and of_peer == "step" else {}
            else:
                bar = {"bar": bar_of(workload, phase)} if to == GRAPH and bar_of(workload, phase) else {}
            say(workload=workload, phase=phase, to=to, ratio=ours / theirs, **bar)
        if is_sparse and of_peer == "step" and copy:
            say(workload=workload, phase=phase, to="copy_GBs", ratio=gigabytes[workload, phase, peer] / copy, bar=0.6, at_least=True)
    hard = [times.get(("ohem-mlp", phase, "tapeless-gpu-graph")) for phase in ("fwd", "step_topk", "step_all")]
    if all(hard) and hard[2] > hard[0]:
        say(workload="ohem-mlp", phase="backward of a quarter", to="of all rows", ratio=(hard[1] - hard[0]) / (hard[2] - hard[0]), bar=0.35)


main()
