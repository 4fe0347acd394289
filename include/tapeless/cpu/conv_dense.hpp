// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Convolution whose filters cover the whole image: a matrix product, of x as (n, c h w) and w as (k, c h w).
#include "conv_tile.hpp"

namespace tapeless::cpu::detail {

// tap (r, s) meets element (r, s) and no other
constexpr bool filters_cover_image(const conv_extents& e) {
  return e.groups == 1 && e.p == 1 && e.q == 1 && e.pad_top == 0 && e.pad_left == 0 && e.r == e.h &&
         e.s == e.w && (e.dil_h == 1 || e.r == 1) && (e.dil_w == 1 || e.s == 1);
}
// of any batch: that is m, or the k of wgrad
template <class V> constexpr scratch_need dense_need(matmul_extents e) {
  using T = typename V::value_type;
  (e.ta ? e.k : e.m) = many;
  return {.each = matmul_scratch<T, V>(e), .shared = matmul_shared<T, V>(e)};
}

template <class V> struct dense_fprop {
  using T = typename V::value_type;
  static constexpr matmul_extents product(const conv_extents& e) {
    return {.m = e.n, .n = e.k, .k = e.c * e.h * e.w, .tb = true};
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
    return {.m = e.n, .n = e.c * e.h * e.w, .k = e.k};
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
    return {.m = e.k, .n = e.c * e.h * e.w, .k = e.n, .ta = true};
  }
  static constexpr scratch_need need(const conv_extents& e) { return dense_need<V>(product(e)); }
  static constexpr bool reads_lists(const conv_extents& e) { return matmul_reads_lists(product(e)); }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    matmul<T, Team, V>(team, product(e), dy.p, x.p, dw, s.each, s.shared, nullptr, {dy.list, x.list});
  }
};

} // namespace tapeless::cpu::detail
