// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NHWC 3 x 3 convolution without stride by minimal filtering (winograd_transforms.hpp).
//
// A tile is a (2, 2) block of outputs, `dil` apart, and the (4, 4) inputs that it reads. Lanes are channels, so
// small images, odd widths and dilation leave no lane empty. The tiles of the batch are one list, taken in chunks.
// The transformed inputs of a chunk are 16 matrices (tiles, channels), the transformed weights 16 matrices
// (channels, filters). The products (tiles, filters) are transformed back. dgrad, and the spread of infinities, are
// as in nchw/winograd.hpp.
#include "../../matmul/matmul.hpp"
#include "../../base/partial_vector.hpp"
#include "../common/geometry.hpp"
#include "../common/tile.hpp"
#include "../common/winograd_transforms.hpp"
#include "../common/winograd_weights.hpp"

namespace tapeless::cpu {

inline constexpr int filtered = 2, filtered_points = (filtered + 2) * (filtered + 2);

/// The tiles of a batch in their order: image, residues modulo the dilation, row, column.
struct tile_list {
  index_t rows, cols; // tiles of one residue
  constexpr tile_list(index_t p, index_t q, const conv_extents& e)
      : rows(ceil_div(ceil_div(p, e.dil_h), filtered)), cols(ceil_div(ceil_div(q, e.dil_w), filtered)) {}
  constexpr index_t of_image(const conv_extents& e) const { return e.dil_h * e.dil_w * rows * cols; }
  /// f(number, image, output row and column of the first element) of the tiles [first, last)
  template <class F> void each(const conv_extents& e, index_t first, index_t last, F&& f) const {
    index_t j = first % cols, i = first / cols % rows, x = first / (cols * rows) % e.dil_w;
    index_t y = first / (cols * rows * e.dil_w) % e.dil_h, z = first / of_image(e);
    for (index_t t = first; t < last; ++t) {
      f(t - first, z, i * filtered * e.dil_h + y, j * filtered * e.dil_w + x);
      if (++j < cols) continue;
      j = 0;
      if (++i < rows) continue;
      i = 0;
      if (++x < e.dil_w) continue;
      x = 0;
      if (++y < e.dil_h) continue;
      y = 0;
      ++z;
    }
  }
};

/// at[a][b] = the address of pixel (y + a * dil_h, x + b * dil_w) of the image, or `outside`.
/// Calls of unroll, not a loop: so the addresses stay in registers.
template <int N, class T> [[gnu::always_inline]] inline void pixels_of_tile(T* image, index_t h, index_t w,
                                                                            index_t pixel, index_t y,
                                                                            index_t x, index_t dil_h,
                                                                            index_t dil_w, T* outside,
                                                                            T* (&at)[N][N]) {
  unroll<N>([&](auto a) __attribute__((always_inline)) {
    const index_t i = y + a * dil_h;
    const bool row = i >= 0 && i < h;
    unroll<N>([&](auto b) __attribute__((always_inline)) {
      const index_t j = x + b * dil_w;
      at[a][b] = row && j >= 0 && j < w ? image + (i * w + j) * pixel : outside;
    });
  });
}

/// to[point * to_point + c] = F of the pixels, for `lanes` channels c, up to a whole vector; N by N pixels.
template <class V, class F, int N, class T> [[gnu::always_inline]] inline void transform_pixels(
    const T* const (&at)[N][N], index_t lanes, T* to, index_t to_point) {
  constexpr index_t W = static_cast<index_t>(V::size);
  constexpr int A = filtered + 2;
  const auto vector = [&](index_t c, auto get) __attribute__((always_inline)) {
    V d[N][N], r[A][A];
#pragma GCC unroll 8
    for (int a = 0; a < N; ++a)
#pragma GCC unroll 8
      for (int b = 0; b < N; ++b) d[a][b] = get(at[a][b] + c);
    both_axes(F{}, d, r);
#pragma GCC unroll 8
    for (int a = 0; a < A; ++a)
#pragma GCC unroll 8
      for (int b = 0; b < A; ++b) store(to + (a * A + b) * to_point + c, r[a][b]);
  };
  index_t c = 0;
  for (; c + W <= lanes; c += W)
    vector(c, [](const T* p) __attribute__((always_inline)) { return load<V>(p); });
  if (const first_lanes<V> left(lanes - c); c < lanes)
    vector(c, [&](const T* p) __attribute__((always_inline)) { return left.load(p); });
}

/// Prefetches n channels of 2 by 2 pixels; some may lie outside the image.
template <class T> [[gnu::always_inline]] inline void fetch_block(const T* p, index_t row, index_t column,
                                                                  index_t n) {
  for (index_t c = 0; c < n; c += 64 / static_cast<index_t>(sizeof(T))) {
    __builtin_prefetch(p + c, 0, 2);
    __builtin_prefetch(p + c + column, 0, 2);
    __builtin_prefetch(p + c + row, 0, 2);
    __builtin_prefetch(p + c + row + column, 0, 2);
  }
}

/// Transformed inputs of the tiles [first, last), of the channels of group g.
template <class V, class T> [[gnu::noinline]] void winograd_pixels(const conv_extents& e,
                                                                   const tile_list& list, index_t first,
                                                                   index_t last, const image_batch<T>& x,
                                                                   index_t cg, const T* zeros, T* to,
                                                                   index_t to_tile, index_t to_point) {
  list.each(e, first, last, [&](index_t t, index_t z, index_t y, index_t j) {
    const T* at[filtered + 2][filtered + 2];
    const T* const image = x(z);
    pixels_of_tile(image, e.h, e.w, e.c, y - e.pad_top, j - e.pad_left, e.dil_h, e.dil_w, zeros, at);
    fetch_block(
        image + ((y - e.pad_top + 4 * e.dil_h) * e.w + j - e.pad_left + e.dil_w) * e.c, // of the tile below
        e.dil_h * e.w * e.c, e.dil_w * e.c, cg);
    transform_pixels<V, winograd<filtered>::data>(at, cg, to + t * to_tile, to_point);
  });
}

/// The outputs of the tiles [first, last), of the filters of one group; those outside the image go to `outside`.
template <class V, class T> [[gnu::noinline]] void winograd_results(const conv_extents& e,
                                                                    const tile_list& list, index_t first,
                                                                    index_t last, const T* from,
                                                                    index_t from_tile, index_t from_point,
                                                                    T* y, index_t kg, T* outside) {
  constexpr index_t W = static_cast<index_t>(V::size);
  constexpr int A = filtered + 2;
  list.each(e, first, last, [&](index_t t, index_t z, index_t i, index_t j) {
    T* at[filtered][filtered];
    pixels_of_tile(y + z * e.p * e.q * e.k, e.p, e.q, e.k, i, j, e.dil_h, e.dil_w, outside, at);
    for (index_t k = 0; k < kg; k += W) {
      V d[A][A], r[filtered][filtered];
#pragma GCC unroll 8
      for (int a = 0; a < A; ++a)
#pragma GCC unroll 8
        for (int b = 0; b < A; ++b) d[a][b] = load<V>(from + t * from_tile + (a * A + b) * from_point + k);
      both_axes(winograd<filtered>::result{}, d, r);
      const first_lanes<V> lanes(std::min(W, kg - k));
#pragma GCC unroll 8
      for (int a = 0; a < filtered; ++a)
#pragma GCC unroll 8
        for (int b = 0; b < filtered; ++b)
          if (kg - k >= W) store(at[a][b] + k, r[a][b]);
          else lanes.store(at[a][b] + k, r[a][b]);
    }
  });
}

template <class V> struct nhwc_winograd_plan {
  using T = typename V::value_type;
  using B = blocking<V>;
  static constexpr index_t points = filtered_points, count = 36; // tiles of a chunk, at most
  index_t cg, kg, channels, filters;                             // of a group; whole vectors of them
  tile_list list;
  constexpr explicit nhwc_winograd_plan(const conv_extents& e)
      : cg(e.c / e.groups),
        kg(e.k / e.groups),
        channels(round_up(cg, B::W)),
        filters(round_up(kg, B::W)),
        list(e.p, e.q, e) {}
  constexpr index_t data_point() const { return apart<T>(count * channels); }
  constexpr index_t product_point() const { return apart<T>(count * filters); }
  constexpr index_t beside() const { return std::max(channels, filters); } // a pixel outside the image
  constexpr index_t scratch() const { return points * (data_point() + product_point()) + beside(); }
  constexpr index_t packed(const conv_extents& e) const { return e.groups * points * cg * filters; }
};

/// y = conv(x, transformed weights)
template <class V, class Team, class T> void nhwc_winograd(const Team& team, const conv_extents& e,
                                                           const T* x, const T* w, T* y, T* scratch) {
  using B = blocking<V>;
  constexpr index_t W = B::W;
  const nhwc_winograd_plan<V> plan(e);
  const index_t all = e.n * plan.list.of_image(e);
  const index_t count = std::min(plan.count, round_up(ceil_div(all, 2 * team.size()), B::MR));
  const index_t chunks = ceil_div(all, std::max<index_t>(count, 1));
  const index_t kg = plan.kg, cg = plan.cg, filters = plan.filters;
  team.run(chunks * e.groups, [&](index_t chunk, int member) {
    const index_t g = chunk % e.groups, first = chunk / e.groups * count;
    const index_t last = std::min(first + count, all), tiles = last - first;
    T* const data = scratch + member * plan.scratch();
    T* const products = data + plan.points * plan.data_point();
    T* const outside = products + plan.points * plan.product_point();
    std::fill_n(outside, plan.beside(), T(0));
    winograd_pixels<V>(e, plan.list, first, last, image_batch<T>{x + g * cg, e.h * e.w * e.c}, cg, outside,
                       data, plan.channels, plan.data_point());
    for (index_t p = 0; p < plan.points; ++p) {
      plan.list.each(e, first + p * tiles / plan.points, first + (p + 1) * tiles / plan.points,
                     [&](index_t, index_t z, index_t i, index_t j) {
                       fetch_block(y + ((z * e.p + i) * e.q + j) * e.k + g * kg, e.dil_h * e.q * e.k,
                                   e.dil_w * e.k, kg);
                     });
      for (index_t k = 0; k < filters; k += B::NR)
        row_blocks<B::MR>(tiles, [&](index_t t, index_t m) {
          const auto run = [&](auto nv) {
            micro_rows<V, nv.value>(m, cg, data + p * plan.data_point() + t * plan.channels, plan.channels, 1,
                                    w + (g * plan.points + p) * cg * filters + k, filters,
                                    products + p * plan.product_point() + t * filters + k, filters, W, false);
          };
          if (filters - k > W) run(std::integral_constant<int, 2>{});
          else run(std::integral_constant<int, 1>{});
        });
    }
    winograd_results<V>(e, plan.list, first, last, products, filters, plan.product_point(), y + g * kg, kg,
                        outside);
  });
}

template <class V> struct nhwc_winograd_fprop {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    const nhwc_winograd_plan<V> plan(e);
    return {.packed = plan.packed(e), .each = plan.scratch()};
  }
  template <class Team> static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    const nhwc_winograd_plan<V> p(e);
    for (index_t g = 0; g < e.groups; ++g)
      winograd_weights<V, filtered, false>(team, p.cg, p.kg, w + g * p.kg * p.cg * 9, 9, p.cg * 9,
                                           packed + g * p.points * p.cg * p.filters, p.filters);
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T*, T* y,
                                        const scratch_of_kernel<T>& s) {
    nhwc_winograd<V>(team, e, x, s.packed, y, s.each);
  }
};

template <class V> struct nhwc_winograd_dgrad {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    return nhwc_winograd_fprop<V>::need(transposed(e));
  }
  template <class Team> static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    const nhwc_winograd_plan<V> p(transposed(e));
    for (index_t g = 0; g < e.groups; ++g)
      winograd_weights<V, filtered, true>(team, p.cg, p.kg, w + g * p.kg * p.cg * 9, p.kg * 9, 9,
                                          packed + g * p.points * p.cg * p.filters, p.filters);
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* dy, const T*, T* dx,
                                        const scratch_of_kernel<T>& s) {
    nhwc_winograd<V>(team, transposed(e), dy, s.packed, dx, s.each);
  }
};

} // namespace tapeless::cpu
