// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NCHW 3 x 3 convolution without stride by minimal filtering (winograd_transforms.hpp): 2.25 times fewer products
// than direct.
//
// A tile is an (M, M) block of outputs, `dil` apart, and the (M + 2, M + 2) inputs that it reads; (a, b) is one of
// its points. Lanes are consecutive tiles, across the ends of rows, residues and images. Rows of x are transformed
// along the row once, for all tiles that read them. Two vectors of tiles at a time are then transformed along
// columns, and stay in the nearest caches for all filters. A panel of filters keeps the products of a row of points
// in registers, sums over channels, and transforms back from registers. dgrad is fprop with reversed taps, filters
// and channels exchanged. An infinity or NaN reaches all outputs of the tiles that read it.
#include "../common/tile.hpp"
#include "../../base/transpose.hpp"
#include "../common/geometry.hpp"
#include "../common/winograd_transforms.hpp"
#include "../common/winograd_weights.hpp"
#include "winograd_tiling.hpp"

namespace tapeless::cpu {

/// to[b * pitch + j] = point b of the transform along the row x, of the tiles j < n (and up to a whole vector)
template <class V, int M, class T>
[[gnu::noinline]] void winograd_row(index_t n, const T* x, T* to, index_t pitch) {
  constexpr int A = M + 2;
  for (index_t j = 0; j < n; j += static_cast<index_t>(V::size)) {
    V near[M], far[M], d[A], r[A];
    load_apart<V>(x + M * j, near);
    load_apart<V>(x + M * j + M, far);
    unroll<A>([&](auto b) __attribute__((always_inline)) { d[b] = b < M ? near[b % M] : far[b % M]; });
    typename winograd<M>::data{}(d, r);
    unroll<A>([&](auto b) __attribute__((always_inline)) { store(to + b * pitch + j, r[b]); });
  }
}
/// to: (a, group of points b, channel, point of the group, lane), the transformed inputs of one vector of tiles, whose
/// transformed rows begin at `rows`: (channel, phase, b, pitch)
template <class V, int M, class T>
[[gnu::noinline]] void winograd_columns(index_t cg, const T* rows, index_t pitch, index_t step, T* to) {
  constexpr index_t W = static_cast<index_t>(V::size), B = winograd_block<V, M>::points;
  constexpr int A = M + 2;
  for (index_t c = 0; c < cg; ++c, rows += M * A * pitch, to += B * W)
    unroll<A>([&](auto b) __attribute__((always_inline)) {
      V d[A], r[A];
      unroll<A>([&](auto a) __attribute__((always_inline)) {
        d[a] = load<V>(rows + (a % M * A + b) * pitch + a / M * step);
      });
      typename winograd<M>::data{}(d, r);
      unroll<A>([&](auto a) __attribute__((always_inline)) {
        store(to + ((a * (A / B) + b / B) * cg * B + b % B) * W, r[a]);
      });
    });
}
/// The outputs of N vectors of tiles, x apart by x_next, of F filters: w: (a, group of points b, channel, filter, point
/// of the group). Output row i of filter f of vector t at y + f * y_filter + i * y_row + t * y_next.
template <class V, int M, int F, int N, class T> [[gnu::noinline]] void winograd_products(
    index_t cg, const T* x, index_t x_next, const T* w, T* y, index_t y_filter, index_t y_row,
    index_t y_next) {
  constexpr index_t W = static_cast<index_t>(V::size);
  constexpr int A = M + 2, B = winograd_block<V, M>::points;
  using result = typename winograd<M>::result;
  V half[A][F * N][M]; // transformed along the rows: more than registers hold
  for (int a = 0; a < A; ++a) {
    V points[F * N][A]; // of a row, if it has several groups of points
    for (int group = 0; group < A; group += B) {
      V acc[F * N][B];
#pragma GCC unroll 24
      for (int i = 0; i < F * N; ++i)
#pragma GCC unroll 8
        for (int b = 0; b < B; ++b) acc[i][b] = V(T(0));
      chain_sums<V, F * N, B> sums;
      in_chains(cg, steps_of_chain<V>(cg), acc, sums,
                [&](index_t c, index_t end) __attribute__((always_inline)) {
                  for (; c < end; ++c, w += F * B, x += B * W)
#pragma GCC unroll 8
                    for (int b = 0; b < B; ++b) {
                      V v[N];
#pragma GCC unroll 8
                      for (int t = 0; t < N; ++t) {
                        V one = load<V>(x + t * x_next + b * W);
                        opaque(one);
                        v[t] = one;
                      }
#pragma GCC unroll 24
                      for (int f = 0; f < F; ++f) {
                        const V u(w[f * B + b]);
#pragma GCC unroll 8
                        for (int t = 0; t < N; ++t) acc[f * N + t][b] = fma(u, v[t], acc[f * N + t][b]);
                      }
                    }
                });
      sums.finish(acc);
#pragma GCC unroll 24
      for (int i = 0; i < F * N; ++i)
        if constexpr (B == A) result{}(acc[i], half[a][i]);
        else
#pragma GCC unroll 8
          for (int b = 0; b < B; ++b) points[i][group + b] = acc[i][b];
    }
    if constexpr (B < A)
      for (int i = 0; i < F * N; ++i) result{}(points[i], half[a][i]);
  }
  for (int i = 0; i < F * N; ++i) {
    V r[M][M]; // (column, row)
    unroll<M>([&](auto m) __attribute__((always_inline)) {
      V column[A];
      unroll<A>([&](auto a) __attribute__((always_inline)) { column[a] = half[a][i][m]; });
      result{}(column, r[m]);
    });
    unroll<M>([&](auto row) __attribute__((always_inline)) {
      V line[M];
      unroll<M>([&](auto m) __attribute__((always_inline)) { line[m] = r[m][row]; });
      store_apart<V>(y + i / N * y_filter + row * y_row + i % N * y_next, line);
    });
  }
}

/// to: of each block of filters (row_blocks) (a, group of points b, channel, filter, point of the group), the
/// transformed weights: a stream of memory; filter (f, c) at w[f * w_filter + c * w_channel], its taps reversed
/// where asked
template <class V, int M, bool Reversed, class Team, class T>
void winograd_filters(const Team& team, index_t cg, index_t kg, const T* w, index_t w_filter,
                      index_t w_channel, T* to) {
  using block = winograd_block<V, M>;
  constexpr index_t W = static_cast<index_t>(V::size), B = block::points;
  constexpr int A = M + 2;
  team.run(cg, [&](index_t c, int) {
    T points[A * A / B][static_cast<std::size_t>(B) * V::size]; // (group, filter, point)
    index_t first = 0;                                          // the first of the transformed filters
    const auto transform = [&](index_t f) {
      T taps[9 * V::size];
      transpose<V, true>(std::min(W, kg - f), 9, w + f * w_filter + c * w_channel, w_filter, taps, W);
      V g[3][3], r[A][A];
      unroll<9>([&](auto t) { g[t / 3][t % 3] = load<V>(taps + (Reversed ? 8 - t : t.value) * W); });
      both_axes(typename winograd<M>::weights{}, g, r);
      unroll<A * A / B>([&](auto group) {
        V of[B];
        unroll<B>([&](auto b) { of[b] = r[group * B / A][group * B % A + b]; });
        store_apart<V>(points[group], of);
      });
      first = f;
    };
    transform(0);
    row_blocks<block::filters>(kg, [&](index_t k, index_t m) {
      for (index_t f = k; f < k + m; ++f) {
        if (f == first + W) transform(f);
        T* const at = to + k * A * A * cg + (c * m + f - k) * B;
        unroll<A * A / B>([&](auto group) {
          for (index_t b = 0; b < B; ++b) at[group * cg * m * B + b] = points[group][(f - first) * B + b];
        });
      }
    });
  });
}

/// y = conv(x, transformed weights)
template <class V, int M, class Team, class T> void winograd_conv(const Team& team, const conv_extents& e,
                                                                  const T* x, const T* w, T* y, T* scratch) {
  using block = winograd_block<V, M>;
  constexpr index_t W = static_cast<index_t>(V::size);
  constexpr int A = M + 2;
  const winograd_plan<V, M> whole(e), plan(e, whole.line.for_team(e.n, e.groups, team.size()));
  const index_t each = whole.scratch(e);
  const winograd_line<V, M>& line = plan.line;
  const index_t kg = plan.kg, cg = plan.cg, pitch = line.pitch(), area = e.p * e.q;
  const bool plain = e.dil_h == 1 && e.dil_w == 1;
  team.run(ceil_div(e.n, line.images) * e.groups * line.bands, [&](index_t chunk, int member) {
    const index_t s0 = chunk % line.bands * line.band, g = chunk / line.bands % e.groups;
    const index_t z0 = chunk / (line.bands * e.groups) * line.images;
    const index_t images = std::min(line.images, e.n - z0), steps = std::min(line.band, line.steps - s0);
    const index_t i0 = s0 * M * e.dil_h, rows = std::min(steps * M * e.dil_h, e.p - i0);
    const index_t tiles = line.tiles(images, steps), vectors = ceil_div(tiles, W);
    T* const lines = scratch + member * each;
    T* const data = lines + plan.rows();
    T* const out = data + block::vectors * plan.vector();
    T* const plane = out + plan.results();
    const auto result = [&](index_t z, index_t k) {
      return y + (((z0 + z) * e.groups + g) * kg + k) * area + i0 * e.q;
    };

    image_tile tile = plan.plane(e);
    tile.rows = (M * steps + 2) * e.dil_h;
    for (index_t z = 0; z < images; ++z)
      for (index_t c = 0; c < cg; ++c) {
        fill<V>(tile, plane, x + (((z0 + z) * e.groups + g) * cg + c) * e.h * e.w, e.h, e.w, i0 - e.pad_top,
                -e.pad_left);
        for (index_t r = 0; r < tile.rows; ++r)
          for (index_t residue = 0; residue < e.dil_w; ++residue)
            winograd_row<V, M>(
                line.row, plane + (r * e.dil_w + residue) * tile.width,
                lines + (c * M + r / e.dil_h % M) * A * pitch + line.at(e, z, r) + residue * line.row, pitch);
      }

    // Results go straight to y if vectors are parts of its rows.
    const bool straight =
        plain && images == 1 && rows == M * steps && e.q == M * line.row && line.row % W == 0;
    const auto place = [&](index_t tile_of_line) {
      return straight ? tile_of_line / line.row * M * e.q + tile_of_line % line.row * M : tile_of_line * M;
    };
    T* const to = straight ? result(0, 0) : out;
    const index_t to_row = straight ? e.q : plan.result(), to_filter = straight ? area : M * plan.result();
    // prefetches the lines of y that are written after the products
    const auto fetch = [&](index_t k, index_t vector) {
      constexpr index_t elements = 64 / static_cast<index_t>(sizeof(T));
      for (index_t z = 0; z < images; ++z)
        for (index_t n = rows * e.q, i = vector * n / vectors; i < (vector + 1) * n / vectors; i += elements)
          __builtin_prefetch(result(z, k) + i, 1, 2);
    };
    for (index_t v = 0; v < vectors; v += block::vectors) {
      const index_t n = std::min<index_t>(block::vectors, vectors - v);
      for (index_t t = 0; t < n; ++t)
        winograd_columns<V, M>(cg, lines + (v + t) * W, pitch, line.step, data + t * plan.vector());
      constant_row_blocks<block::filters>(kg, [&](index_t k, auto m) {
        const auto run = [&](auto together) __attribute__((always_inline)) {
          for (int f = 0; f < m.value; ++f)
            for (int t = 0; t < together.value; ++t) fetch(k + f, v + t);
          winograd_products<V, M, m.value, together.value>(
              cg, data, plan.vector(), w + (g * kg + k) * A * A * cg, to + k * to_filter + place(v * W),
              to_filter, to_row, place((v + 1) * W) - place(v * W));
        };
        if (n == block::vectors) run(std::integral_constant<int, block::vectors>{});
        else run(std::integral_constant<int, 1>{});
      });
    }
    if (straight) return;
    for (index_t k = 0; k < kg; ++k)
      for (index_t z = 0; z < images; ++z)
        for (index_t r = 0; r < rows; ++r) {
          const T* const from = out + (k * M + r / e.dil_h % M) * plan.result() + line.at(e, z, r) * M;
          if (e.dil_w == 1) copy_row<V>(result(z, k) + r * e.q, from, e.q);
          else merge_residues<V>(e.q, e.dil_w, from, M * line.row, result(z, k) + r * e.q);
        }
  });
}

template <class V, int M> struct winograd_fprop {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    const winograd_plan<V, M> plan(e);
    return {.packed = plan.points * e.k * plan.cg, .each = plan.scratch(e)};
  }
  template <class Team>
  static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    const index_t cg = e.c / e.groups, kg = e.k / e.groups;
    for (index_t g = 0; g < e.groups; ++g)
      winograd_filters<V, M, false>(team, cg, kg, w + g * kg * cg * 9, cg * 9, 9,
                                    packed + g * (M + 2) * (M + 2) * kg * cg);
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T*, T* y,
                                        const scratch_of_kernel<T>& s) {
    winograd_conv<V, M>(team, e, x, s.packed, y, s.each);
  }
};

template <class V, int M> struct winograd_dgrad {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    return winograd_fprop<V, M>::need(transposed(e));
  }
  template <class Team>
  static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    const index_t cg = e.c / e.groups, kg = e.k / e.groups;
    for (index_t g = 0; g < e.groups; ++g)
      winograd_filters<V, M, true>(team, kg, cg, w + g * kg * cg * 9, 9, cg * 9,
                                   packed + g * (M + 2) * (M + 2) * kg * cg);
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* dy, const T*, T* dx,
                                        const scratch_of_kernel<T>& s) {
    winograd_conv<V, M>(team, transposed(e), dy, s.packed, dx, s.each);
  }
};

} // namespace tapeless::cpu
