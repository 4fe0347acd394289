// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NCHW 1 x 1 convolution without stride or padding, fprop and dgrad: for each image and group, the weights times its
// (channels, pixels). wgrad: pointwise_wgrad.hpp. NHWC: as_matmul.hpp.
#include "../common/tile.hpp"

namespace tapeless::cpu {

/// Columns of one chunk of pointwise_product.
template <class V> constexpr index_t pointwise_columns(index_t rows, index_t k) {
  using B = blocking<V>;
  return std::clamp(round_up((1 << 21) / (rows * k), B::NR), 8 * B::NR, B::NC);
}
/// y[n, g, :, :] = a[g] x[n, g, :, :] with a of shape (rows, k) and x of shape (k, area)
template <class V, class T, class Team>
void pointwise_product(const Team& team, const conv_extents& e, index_t rows, index_t k, const matrix<T>& a,
                       const T* x, T* y, T* scratch) {
  const index_t area = e.h * e.w, nb = pointwise_columns<V>(rows, k), parts = ceil_div(area, nb);
  const bool few = are_few_rows<V>(rows, k, a, matrix<T>{x, area, 1});
  // rows are cut only if the team has too little else to do: every tile packs its columns again
  const bool cut = team.size() > 1 && e.n * e.groups * parts < 4 * team.size();
  constexpr index_t part = 72; // whole blocks of the microkernel
  const index_t mb = cut ? std::min(rows, part) : rows, tiles = ceil_div(rows, mb);
  team.run(e.n * e.groups * parts * tiles, [&](index_t chunk, int member) {
    const index_t i = chunk % tiles * mb, j = chunk / tiles % parts * nb, image = chunk / (tiles * parts);
    const index_t g = image % e.groups, m = std::min(mb, rows - i), cols = std::min(nb, area - j);
    const auto as = matrix<T>{a.p + g * rows * k, a.row, a.col}.at(i, 0);
    const matrix<T> xs{x + image * k * area + j, area, 1};
    T* const to = y + (image * rows + i) * area + j;
    if (k == 1) outer_product<V>(m, cols, as.p, as.row, xs.p, to, area);
    else if (few) few_rows<V>(rows, m, cols, k, as, xs, to, area);
    else tile<V>(m, cols, k, as, xs, to, area, scratch + member * tile_scratch<V>(rows, nb, k));
  });
}
template <class V> constexpr scratch_need pointwise_need(index_t rows, index_t k) {
  return {.each = tile_scratch<V>(rows, pointwise_columns<V>(rows, k), k)};
}

template <class V> struct pointwise_fprop {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    return pointwise_need<V>(e.k / e.groups, e.c / e.groups);
  }
  template <class Team> static void pack(const Team&, const conv_extents&, const T*, T*) {}
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T* w, T* y,
                                        const scratch_of_kernel<T>& s) {
    const index_t cg = e.c / e.groups, kg = e.k / e.groups;
    pointwise_product<V>(team, e, kg, cg, matrix<T>{w, cg, 1}, x, y, s.each);
  }
};
template <class V> struct pointwise_dgrad {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    return pointwise_need<V>(e.c / e.groups, e.k / e.groups);
  }
  template <class Team> static void pack(const Team&, const conv_extents&, const T*, T*) {}
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* dy, const T* w,
                                        T* dx, const scratch_of_kernel<T>& s) {
    const index_t cg = e.c / e.groups, kg = e.k / e.groups;
    pointwise_product<V>(team, e, cg, kg, matrix<T>{w, 1, cg}, dy, dx, s.each);
  }
};

} // namespace tapeless::cpu
