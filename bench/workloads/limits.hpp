#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What this machine can do at best, for the figures to be compared with.

namespace bench {

// 10^9 float operations a second on `threads` threads: independent chains of fused multiply-adds in registers of
// the widest vectors that the program is compiled for.
double fma_gflops(int threads);

// The same, the better of two goes of some 50 microseconds: what the machine does at this moment, when its clock may
// be lower.
double fma_gflops_now(int threads);

// 10^9 bytes a second on `threads` threads: a[i] = 3 c[i] + b[i] with ordinary stores, over three arrays of 256 MB
// each, 12 bytes counted an element.
double stream_gigabytes(int threads);

} // namespace bench
