// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Direct NCHW wgrad: lanes are columns of an image, sums over (p, q) stay in registers. Tiles and bands are those of
// direct.hpp. An infinity or NaN in x may reach every tap of its channel.
#include "../common/tile.hpp"
#include "direct.hpp"

namespace tapeless::cpu {

/// The tiles of wgrad: x and dy for `images` bands of `band` output rows, dy with zeros up to whole vectors.
template <class T, class V> struct wgrad_plan {
  fprop_plan<T, V> x;
  image_tile dy;
  index_t images, filters, blocks, slots; // filters: rows of dw in a chunk
  constexpr explicit wgrad_plan(const conv_extents& e) : x(e) {
    blocks = ceil_div(x.kg, 64);
    filters = ceil_div(x.kg, blocks);
    dy = {filters, x.band, 1, round_up(e.q, blocking<V>::W)};
    images = std::clamp<index_t>((1 << 18) / (static_cast<index_t>(sizeof(T)) * (x.tile.size() + dy.size())),
                                 1, 8);
    slots = std::clamp<index_t>((1 << 18) / (e.k * x.cg * e.r * e.s), 1, 8);
    if (x.bands > 1) images = 1;
  }
};

/// sum[m, n] (+)= sum over images, rows and vectors of dy[m * dy_plane + .] * x[at[n] + .]       (M, N)
template <class V, int M, int N, class T>
[[gnu::noinline]] void correlate(index_t images, index_t rows, index_t cols, const T* dy, index_t dy_plane,
                                 index_t dy_line, index_t dy_image, const T* x, const index_t* at,
                                 index_t x_row, index_t x_image, T* sum, index_t sum_row, bool add) {
  constexpr index_t W = static_cast<index_t>(V::size);
  V acc[M][N];
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) acc[m][n] = V(T(0));
  chain_sums<V, M, N> sums;
  index_t i = 0; // the current line of the image
  const T *d = dy, *row = x;
  const index_t vectors = ceil_div(cols, W);
  const auto chain = [&](index_t line, index_t end, index_t part, index_t part_end)
                         __attribute__((always_inline)) {
                           for (; line < end; ++line) {
                             const T* xs[N];
#pragma GCC unroll 16
                             for (int n = 0; n < N; ++n) xs[n] = row + at[n];
                             for (index_t j = part * W; j < part_end * W; j += W) {
                               V a[M];
#pragma GCC unroll 16
                               for (int m = 0; m < M; ++m) {
                                 V v = load<V>(d + m * dy_plane + j);
                                 if constexpr (N > 1) opaque(v); // one load for N uses
                                 a[m] = v;
                               }
#pragma GCC unroll 16
                               for (int n = 0; n < N; ++n) {
                                 V b = load<V>(xs[n] + j);
                                 opaque(b);
#pragma GCC unroll 16
                                 for (int m = 0; m < M; ++m) acc[m][n] = fma(a[m], b, acc[m][n]);
                               }
                             }
                             if (part_end < vectors) continue; // other parts of the line follow
                             d += dy_line, row += x_row;
                             if (++i == rows)
                               i = 0, d += dy_image - rows * dy_line, row += x_image - rows * x_row;
                           }
                         };
  in_chains_of_rows(images * rows, vectors, chain_terms, acc, sums, chain);
  sums.finish(acc);
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      T& to = sum[m * sum_row + n];
      const T s = hsum(acc[m][n]);
      to = add ? to + s : s;
    }
}

template <class V> struct direct_wgrad {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    const wgrad_plan<T, V> plan(e);
    return {.each = plan.images * (plan.x.tile.size() + plan.dy.size()),
            .shared = (plan.slots + 1) * e.k * (e.c / e.groups) * e.r * e.s};
  }
  static constexpr bool reads_lists(const conv_extents&) { return true; }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw,
                                        const scratch_of_kernel<T>& scratch) {
    const wgrad_plan<T, V> plan(e);
    const fprop_plan<T, V>& xp = plan.x;
    const index_t cg = xp.cg, kg = xp.kg, taps = e.r * e.s, columns = cg * taps, size = e.k * columns;
    const index_t units = ceil_div(e.n, plan.images) * xp.bands;
    if (units == 0) return void(std::fill_n(dw, size, T(0)));
    // dy is read in place
    const bool whole = e.q % blocking<V>::W == 0 && (dy.list == nullptr || plan.images == 1);
    // target: (slots, k, c / groups, r, s)
    const auto all = sum_in_rounds<V>(
        team, units, plan.slots, size, scratch.shared, dw,
        [&](index_t first, index_t last, index_t slots, T* shared) {
          T* const target = units == last - first && slots == 1 ? dw : shared;
          team.run(slots * e.groups * plan.blocks, [&](index_t chunk, int member) {
            const index_t k0 = chunk % plan.blocks * plan.filters, g = chunk / plan.blocks % e.groups;
            const index_t slot = chunk / (plan.blocks * e.groups), filters = std::min(plan.filters, kg - k0);
            image_tile dt = plan.dy;
            dt.planes = filters;
            T* const xs = scratch.each + member * plan.images * (xp.tile.size() + plan.dy.size());
            T* const ds = xs + plan.images * xp.tile.size();
            const index_t begin = first + slot * (last - first) / slots,
                          end = first + (slot + 1) * (last - first) / slots;
            for (index_t u = begin; u < end; ++u) {
              const index_t z0 = u / xp.bands * plan.images, i = u % xp.bands * xp.band;
              const index_t images = std::min(plan.images, e.n - z0), rows = std::min(xp.band, e.p - i);
              for (index_t z = 0; z < images; ++z) {
                fill<V>(xp.tile, xs + z * xp.tile.size(), x(z0 + z) + g * cg * e.h * e.w, e.h, e.w,
                        i * e.stride_h - e.pad_top, -e.pad_left);
                if (!whole)
                  fill<V>(dt, ds + z * plan.dy.size(), dy(z0 + z) + (g * kg + k0) * e.p * e.q, e.p, e.q, i,
                          index_t(0));
              }
              const T* const rows_of_dy = whole ? dy(z0) + (g * kg + k0) * e.p * e.q + i * e.q : ds;
              const index_t plane = whole ? e.p * e.q : dt.plane(), line = whole ? e.q : dt.line();
              const index_t of_image = whole ? e.k * e.p * e.q : plan.dy.size();
              T* const to = target + slot * size + (g * kg + k0) * columns;
              const auto run = [&](index_t k, index_t at_column, auto m, auto n) {
                index_t at[n.value];
                for (int b = 0; b < n.value; ++b)
                  at[b] = (at_column + b) / taps * xp.tile.plane() + xp.tap(e, (at_column + b) % taps);
                correlate<V, m.value, n.value>(images, rows, e.q, rows_of_dy + k * plane, plane, line,
                                               of_image, xs, at, e.stride_h * xp.tile.line(), xp.tile.size(),
                                               to + k * columns + at_column, columns, u > begin);
              };
              constant_row_blocks<3>(filters,
                                     [&](index_t k, auto m) { // sums in registers: 3 x 4, 2 x 4 or 1 x 8
                                       constexpr int N = m.value == 1 ? 8 : 4;
                                       index_t column = 0;
                                       for (; column + N <= columns; column += N)
                                         run(k, column, m, std::integral_constant<int, N>{});
                                       for (; column < columns; ++column)
                                         run(k, column, m, std::integral_constant<int, 1>{});
                                     });
            }
          });
        });
    if (all.slots > 1) add_slices<V>(team, all.slots, size, all.p, dw);
  }
};

} // namespace tapeless::cpu
