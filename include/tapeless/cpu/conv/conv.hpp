// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// 2-d convolution.           x: (n, c, h, w)   w: (k, c / groups, r, s)   y: (n, k, p, q)
//   fprop   y[n, k, p, q] = sum x[n, c, p sh - pt + r dh, q sw - pl + s dw] w[k, c, r, s] over c, r, s
//   dgrad   dx = the transpose of fprop in x:  (dy, w) -> dx
//   wgrad   dw = the transpose of fprop in w:  (x, dy) -> dw;  zeros where n is 0
//
// With e.nhwc (NHWC) x is (n, h, w, c) and y (n, p, q, k). NHWC and NCHW have different kernels.
//
// n may be 0; all other extents are at least 1. Results are overwritten and overlap no operand. conv_kernel_of
// chooses the kernel by all extents but n.
#include "choose.hpp" // IWYU pragma: export
#include "common/tile.hpp"

namespace tapeless::cpu {

/// Scratch of one pass; it does not depend on n. Without a kernel of the pass it is empty.
template <conv_pass P, class V> constexpr scratch_need conv2d_scratch(conv_kernel k, const conv_extents& e) {
  return with_conv_kernel(k, [&](auto kernel) {
    if constexpr (has_conv_kernel(P, kernel)) return conv_kernel_type<P, kernel, V>::need(e);
    else return scratch_need{};
  });
}

/// Can wgrad read images by a list?
template <class V> constexpr bool conv2d_reads_lists(conv_kernel k, const conv_extents& e) {
  return with_conv_kernel(
      k, [&](auto kernel) { return conv_kernel_type<conv_pass::wgrad, kernel, V>::reads_lists(e); });
}

/// Call conv2d_pack once for the weights, then conv2d_run for the batch or parts of it. wgrad packs nothing.
template <conv_pass P, conv_kernel K, class V, team Team, class T = typename V::value_type>
void conv2d_pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
  static_assert(has_conv_kernel(P, K));
  if constexpr (P != conv_pass::wgrad) conv_kernel_type<P, K, V>::pack(team, e, w, packed);
}
/// lists: for wgrad, of e.n images each.   @pre no lists, or conv2d_reads_lists(K, e)
template <conv_pass P, conv_kernel K, class V, team Team, class T = typename V::value_type>
void conv2d_run(const Team& team, const conv_extents& e, const T* a, const T* b, T* result,
                const scratch_of_kernel<T>& scratch, const row_lists& lists = {}) {
  static_assert(has_conv_kernel(P, K));
  using kernel = conv_kernel_type<P, K, V>;
  if constexpr (P == conv_pass::wgrad)
    kernel::run(team, e, image_batch<T>{a, e.c * e.h * e.w, lists.a},
                image_batch<T>{b, e.k * e.p * e.q, lists.b}, result, scratch);
  else kernel::run(team, e, a, b, result, scratch);
}

} // namespace tapeless::cpu
