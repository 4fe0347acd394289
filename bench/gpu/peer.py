#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""PyTorch on the rows of bench/workloads.def: peer.py [eager] [graph] [compile] [--cpu] [NAME...]

eager: as users write it; graph: the same calls, replayed from a captured CUDA graph; compile: torch.compile. float32 with TF32
off, cudnn.benchmark on, NCHW. Between two events each, 50 calls behind 5 that warm up. --cpu: nothing is timed, each runs once.
A sparse matrix is that of sparse.cpp: one column in each of per_row equal ranges.
"""
import json
import sys

import torch
import torch.nn.functional as F

from rows import rows

CPU = "--cpu" in sys.argv
DEVICE = "cpu" if CPU else "cuda"
MODES = [m for m in ("eager", "graph", "compile") if m in sys.argv] or ["eager", "graph"]
NAMES = [a for a in sys.argv[1:] if a not in ("eager", "graph", "compile", "--cpu")]


def say(what, **fields):
    print(json.dumps({"what": what, "stage": "peer", **fields}), flush=True)


def captured(call):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def milliseconds(call, warm=5, repeats=50):
    for _ in range(warm):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)


def report(name, phase, mode, call):
    fields = {"workload": name, "phase": phase, "peer": f"torch-gpu-{mode}"}
    try:
        if CPU:
            call()
            say("ran", **fields)
            return
        run = torch.compile(call) if mode == "compile" else captured(call) if mode == "graph" else call
        times = milliseconds(run)
        say("time", **fields, min_ms=times[0], median_ms=times[len(times) // 2])
    except Exception as error:  # that a peer cannot do it is an answer, too
        say("time", **fields, error=str(error)[:160])


def random(*shape):
    return torch.randn(*shape, device=DEVICE) * 0.1


def leaf(*shape):
    return random(*shape).requires_grad_()


def gradient(loss, by):
    return torch.autograd.grad(loss, by)


def conv(w):
    x, k = leaf(w["n"], w["c"], w["h"], w["w"]), leaf(w["k"], w["c"] // w["groups"], w["r"], w["r"])
    b = leaf(w["k"])
    xd, kd, bd = x.detach(), k.detach(), b.detach()
    of = {"stride": w["stride"], "padding": w["pad"], "dilation": w["dil"], "groups": w["groups"]}
    y = F.conv2d(xd, kd, bd, **of)
    t, dy = torch.randn_like(y), torch.randn_like(y)

    def backward(*wanted):
        s, p, d = ([w[name]] * 2 for name in ("stride", "pad", "dil"))
        return lambda: torch.ops.aten.convolution_backward(
            dy, xd, kd, [w["k"]], s, p, d, False, [0, 0], w["groups"], list(wanted))

    return {"fwd": lambda: F.conv2d(xd, kd, bd, **of),
            "bwd_data": backward(True, False, False), "bwd_weights": backward(False, True, True),
            "bwd": backward(True, True, True),
            "step": lambda: gradient(((F.relu(F.conv2d(x, k, b, **of)) - t) ** 2).mean(), (x, k, b))}


def masked_conv(w):
    x, true = random(w["n"], w["c"], w["h"], w["w"]), leaf(w["k"], w["c_true"], w["r"], w["r"])
    mask = (torch.rand_like(true) > 0.5).float()

    def forward():
        return F.conv2d(x, (mask * true)[:, :w["c"]], padding=w["pad"])

    t = torch.randn_like(forward().detach())
    return {"fwd": lambda: forward().detach(),
            "step": lambda: gradient(((F.relu(forward()) - t) ** 2).mean(), (true,))}


def chain(w):
    x, weights, c = leaf(w["n"], w["c"], w["h"], w["w"]), [], w["c"]
    for layer in w["layers"]:
        weights.append((leaf(layer["k"], c, layer["r"], layer["r"]), layer["pad"]))
        c = layer["k"]

    def forward(h):
        for k, pad in weights:
            h = F.conv2d(h, k, padding=pad)
        return h

    def without_gradient():
        with torch.no_grad():
            return forward(x)

    t = torch.randn_like(without_gradient())
    return {"fwd": without_gradient,
            "step": lambda: gradient(((F.relu(forward(x)) - t) ** 2).mean(), (x, *[k for k, _ in weights]))}


def mlp(w):
    dims, rows_of_x = w["dims"], w["rows"]
    layers = [(leaf(a, b), leaf(b)) for a, b in zip(dims, dims[1:])]
    x, t = random(rows_of_x, dims[0]), random(rows_of_x, dims[-1])
    flat = [p for layer in layers for p in layer]

    def losses(x, t):
        h = x
        for i, (a, b) in enumerate(layers):
            h = h @ a + b
            h = F.relu(h) if i + 1 < len(layers) else h
        return ((h - t) ** 2).sum(1)

    def forward():
        with torch.no_grad():
            return losses(x, t)

    phases = {"fwd": forward, "step_all": lambda: gradient(losses(x, t).mean(), flat)}
    if "hard" in w:
        count = int(rows_of_x * w["hard"])

        def two_forwards():
            chosen = forward().topk(count).indices
            return gradient(losses(x[chosen], t[chosen]).mean(), flat)

        phases["step_topk"] = lambda: gradient(losses(x, t).topk(count).values.mean(), flat)
        phases["step_two_forwards"] = two_forwards
    return phases


def sparse(w):
    m, n, per_row = (200, 100, 5) if CPU else (w["m"], w["n"], w["per_row"])
    width = n // per_row
    columns = (torch.rand(m, per_row, device=DEVICE) * width).int()
    columns = (columns + torch.arange(per_row, device=DEVICE, dtype=torch.int32) * width).flatten()
    row_ptr = torch.arange(0, m * per_row + 1, per_row, device=DEVICE, dtype=torch.int32)
    values = torch.randn(m * per_row, device=DEVICE)
    a = torch.sparse_csr_tensor(row_ptr, columns, values, (m, n))
    transposed = torch.sparse_csc_tensor(row_ptr, columns, values, (n, m))  # without a copy
    y, r, x, mask = random(m), random(m), leaf(n), (torch.rand(m, device=DEVICE) > 0.5).float()
    return {"fwd": lambda: a @ x.detach(), "bwd": lambda: transposed @ r,
            "step": lambda: gradient((mask * (a @ x - y) ** 2).mean(), (x,))}


def main():
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    say("peer", torch=torch.__version__, device="cpu" if CPU else torch.cuda.get_device_name())
    for kind, make in (("MLP", mlp), ("CHAIN", chain), ("MASKED_CONV", masked_conv), ("CONV", conv), ("SPARSE", sparse)):
        for row in rows(kind):
            if (NAMES and row["name"] not in NAMES) or row.get("skewed"):
                continue
            try:
                phases = make(row)
            except Exception as error:
                say("error", workload=row["name"], error=str(error)[:160])
                continue
            for phase, call in phases.items():
                for mode in MODES:
                    if kind != "SPARSE" or mode == "eager":  # its gradients copy to the host: there is no graph
                        report(row["name"], phase, mode, call)
            del phases
            if not CPU:
                torch.cuda.empty_cache()


main()
