#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""Random layers for bench_kernels: is what the rules choose near the fastest on layers that they were not read off?

random_layers.py SEED N > random.def      N layers as of layers.def, of 4 to 600 Mflop a pass; 31 72 is known to the rules
g++ -std=c++20 -O3 -march=native -Iinclude -Ibench \\
  -DTAPELESS_LAYERS='"random.def"' -I. bench/kernels/conv.cpp bench/workloads/limits.cpp -o bench_random
./bench_random | grep regret
"""
import random
import sys

BATCHES = [1, 1, 2, 4, 8, 16]
SIDES = [6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64, 80, 112]
CHANNELS = [3, 4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320]
FILTERS = CHANNELS[2:]


def layer(draw):
    """(batch, channels, side, side, filters, taps, taps, stride, padding, dilation, groups), and its flops"""
    grouped = draw.random() < 0.12
    n, side, c, k = (draw.choice(x) for x in (BATCHES, SIDES, CHANNELS, FILTERS))
    taps, stride = draw.choice([1, 1, 3, 3, 3, 3, 5, 7]), draw.choice([1, 1, 1, 2])
    dilation = draw.choice([1, 1, 1, 1, 2, 3]) if taps == 3 and stride == 1 else 1
    groups = draw.choice([2, 4, 8]) if grouped else 1
    c, k = (max(x // groups, 2) * groups if grouped else x for x in (c, k))
    padding = dilation * (taps // 2) if draw.random() < 0.8 else 0
    out = (side + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
    flops = 2.0 * n * out * out * k * (c // groups) * taps * taps if out >= 3 else 0
    return (n, c, side, side, k, taps, taps, stride, padding, dilation, groups), flops


def main():
    draw, n = random.Random(int(sys.argv[1])), 0
    while n < int(sys.argv[2]):
        extents, flops = layer(draw)
        if not 4e6 <= flops <= 6e8:
            continue
        print(f'TAPELESS_LAYER("random-{n}", {", ".join(map(str, extents))})')
        n += 1


main()
