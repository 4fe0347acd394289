// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The extents of matmul, convolution, windows and unfolding: what a kernel needs beside pointers.
#include <cstdint>

namespace tapeless {

/// C[b] = op(A[b]) op(B[b]):  op(A): (m, k)   op(B): (k, n)   C: (batch, m, n), all row-major.
/// ta: A is stored (k, m); tb: B is stored (n, k). An operand that is not batched serves all of C.
struct matmul_extents {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool ta = false, tb = false;
  bool a_batched = true, b_batched = true;
  constexpr bool operator==(const matmul_extents&) const = default;
};

/// x: (n, c, h, w)   weights: (k, c / groups, r, s)   y: (n, k, p, q)
/// y[p, q] sees x[p * stride_h - pad_top + r * dil_h, q * stride_w - pad_left + s * dil_w], zero outside x.
/// Padding at the bottom and on the right is what p and q imply; every padding may differ.
struct conv_extents {
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  std::int64_t k = 1, r = 1, s = 1;
  std::int64_t p = 1, q = 1;
  std::int64_t stride_h = 1, stride_w = 1, pad_top = 0, pad_left = 0, dil_h = 1, dil_w = 1;
  std::int64_t groups = 1;
  // the largest output tile of Winograd kernels that may be chosen: 2, 4, or 0 for none
  std::int64_t winograd = 2;
  // NHWC: x is (n, h, w, c), y is (n, p, q, k); weights do not change
  bool nhwc = false;
  constexpr bool operator==(const conv_extents&) const = default;
};

/// x: (planes, h, w, inner)   y: (planes, p, q, inner)   window: (r, s), placed as in conv_extents.
struct window_extents {
  std::int64_t planes = 1, h = 1, w = 1, inner = 1;
  std::int64_t r = 1, s = 1;
  std::int64_t p = 1, q = 1;
  std::int64_t stride_h = 1, stride_w = 1, pad_top = 0, pad_left = 0, dil_h = 1, dil_w = 1;
  constexpr bool operator==(const window_extents&) const = default;
};

/// x: (n, c, d, area)   y: (n, out, c, taps, area): y[.., o, .., t, :] is x[.., o * stride - front + t * dil, :].
struct unfold_extents {
  std::int64_t n = 1, c = 1, d = 1, area = 1;
  std::int64_t taps = 1, out = 1;
  std::int64_t stride = 1, front = 0, dil = 1;
  constexpr bool operator==(const unfold_extents&) const = default;
};

} // namespace tapeless
