#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""What a step costs by the share of rows that it keeps, as an SVG.

bench_workloads ohem-mlp > rows.jsonl
plot_rows.py rows.jsonl > rows.svg      the times of step_topk_P over that of step_all, beside what their flops say
"""
import json
import sys

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 560, 360, 60, 50, 30


def times(lines):
    found = {}
    for line in lines:
        row = json.loads(line)
        if row.get("workload") == "ohem-mlp":
            found[row["phase"]] = row["min_ms"]
    return found


def svg(found):
    whole, forward = found["step_all"], found["fwd"]
    points = sorted((int(phase.rsplit("_", 1)[1]), ms / whole) for phase, ms in found.items()
                    if phase.startswith("step_topk_"))
    top = max(1.1, max(y for _, y in points))
    x = lambda percent: LEFT + (WIDTH - LEFT - 20) * percent / 100
    y = lambda share: HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share / top
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for share in (0, 0.25, 0.5, 0.75, 1):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - 20}" y1="{y(share):.1f}" y2="{y(share):.1f}" stroke="#ccc"/>'
                   f'<text x="{LEFT - 8}" y="{y(share) + 4:.1f}" text-anchor="end">{share:g}</text>')
    for percent in (1, 10, 25, 50, 75, 100):
        out.append(f'<text x="{x(percent):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{percent}</text>')
    bound = forward / whole
    out.append(f'<line x1="{x(0):.1f}" y1="{y(bound):.1f}" x2="{x(100):.1f}" y2="{y(1):.1f}" stroke="#888" '
               f'stroke-dasharray="5 4"/>')
    path = " ".join(f"{x(p):.1f},{y(s):.1f}" for p, s in points)
    out.append(f'<polyline points="{path}" fill="none" stroke="#1f5fbf" stroke-width="2"/>')
    out += [f'<circle cx="{x(p):.1f}" cy="{y(s):.1f}" r="4" fill="#1f5fbf"/>' for p, s in points]
    out += [f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 12}" text-anchor="middle">rows kept, percent</text>',
            f'<text x="{LEFT}" y="18">time of a step over that of all rows; dashed: forward of all rows, adjoint of those kept</text>',
            "</svg>"]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as lines:
        sys.stdout.write(svg(times(lines)))
