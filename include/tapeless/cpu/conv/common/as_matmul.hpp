// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Convolution that is one matrix product with w as (k, inner):
//   filters that cover the whole image      x as (n, c h w)
//   1 x 1 of NHWC images                    x as (n h w, c)
#include "tile.hpp"

namespace tapeless::cpu {

// Rows and columns of x.
constexpr index_t dense_rows(const conv_extents& e) { return e.nhwc ? e.n * e.h * e.w : e.n; }
constexpr index_t dense_inner(const conv_extents& e) { return e.nhwc ? e.c : e.c * e.h * e.w; }
// For any batch: the batch is in m, in wgrad in k.
template <class V> constexpr scratch_need dense_need(matmul_extents e) {
  using T = typename V::value_type;
  (e.ta ? e.k : e.m) = unknown_extent;
  return {.each = matmul_scratch<T, V>(e), .shared = matmul_shared<T, V>(e)};
}

template <class V> struct dense_fprop {
  using T = typename V::value_type;
  static constexpr matmul_extents product(const conv_extents& e) {
    return {.m = dense_rows(e), .n = e.k, .k = dense_inner(e), .tb = true};
  }
  static constexpr scratch_need need(const conv_extents& e) { return dense_need<V>(product(e)); }
  template <class Team> static void pack(const Team&, const conv_extents&, const T*, T*) {}
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T* w, T* y,
                                        const scratch_of_kernel<T>& s) {
    matmul<T, Team, V>(team, product(e), x, w, y, s.each, s.shared);
  }
};
template <class V> struct dense_dgrad {
  using T = typename V::value_type;
  static constexpr matmul_extents product(const conv_extents& e) {
    return {.m = dense_rows(e), .n = dense_inner(e), .k = e.k};
  }
  static constexpr scratch_need need(const conv_extents& e) { return dense_need<V>(product(e)); }
  template <class Team> static void pack(const Team&, const conv_extents&, const T*, T*) {}
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* dy, const T* w,
                                        T* dx, const scratch_of_kernel<T>& s) {
    matmul<T, Team, V>(team, product(e), dy, w, dx, s.each, s.shared);
  }
};
template <class V> struct dense_wgrad {
  using T = typename V::value_type;
  static constexpr matmul_extents product(const conv_extents& e) {
    return {.m = e.k, .n = dense_inner(e), .k = dense_rows(e), .ta = true};
  }
  static constexpr scratch_need need(const conv_extents& e) { return dense_need<V>(product(e)); }
  static constexpr bool reads_lists(const conv_extents& e) { // in NHWC rows are pixels, not images
    return !e.nhwc && matmul_reads_lists(product(e));
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    matmul<T, Team, V>(team, product(e), dy.p, x.p, dw, s.each, s.shared, nullptr, {dy.list, x.list});
  }
};

} // namespace tapeless::cpu
