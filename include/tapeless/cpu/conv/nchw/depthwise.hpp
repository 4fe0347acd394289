// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NCHW convolution with one channel a group (depthwise; each channel has k / c filters). Planes are taken one by
// one, lanes are columns. A block of rows and vectors of results stays in registers for all its taps.
#include "../common/tile.hpp"
#include "direct.hpp"

namespace tapeless::cpu {

constexpr bool one_channel_a_group(const conv_extents& e) { return e.c == e.groups; }

/// y[i, j] (+)= sum_t w[t * w_step] x[i * x_row + tap[t] + j], i < rows <= R, NV vectors of which the last has
/// `last` lanes
template <class V, int R, int NV, class T>
[[gnu::noinline]] void plane_block(int taps, const index_t* tap, const T* w, const T* x, index_t x_row, T* y,
                                   index_t y_row, index_t rows, index_t last, bool add) {
  constexpr index_t W = static_cast<index_t>(V::size);
  V acc[R][NV];
  const T* line[R]; // missing rows repeat the last one
  unroll<R>([&](auto i) __attribute__((always_inline)) {
    line[i] = x + std::min<index_t>(i.value, rows - 1) * x_row;
    unroll<NV>([&](auto j) __attribute__((always_inline)) { acc[i][j] = V(T(0)); });
  });
  for (int t = 0; t < taps; ++t) {
    const V f(w[t]);
    const index_t at = tap[t];
    unroll<R>([&](auto i) __attribute__((always_inline)) {
      unroll<NV>([&](auto j) __attribute__((always_inline)) {
        acc[i][j] = fma(f, load<V>(line[i] + at + j * W), acc[i][j]);
      });
    });
  }
  unroll<R>([&](auto i) __attribute__((always_inline)) {
    if (i.value >= rows) return;
    unroll<NV>([&](auto j) __attribute__((always_inline)) {
      T* const q = y + i * y_row + j * W;
      if (j < NV - 1 || last == W) store(q, add ? load<V>(q) + acc[i][j] : acc[i][j]);
      else store_n(q, add ? load_n<V>(q, last) + acc[i][j] : acc[i][j], last);
    });
  });
}
/// 3 x 3 taps without stride or dilation, and AVX-512, with its masks and room for 9 weights in registers: x is read
/// in place, without a tile.
template <class V> constexpr bool reads_in_place(const conv_extents& e) {
  return sizeof(V) == 64 && e.r == 3 && e.s == 3 && e.stride_h == 1 && e.stride_w == 1 && e.dil_h == 1 &&
         e.dil_w == 1;
}
/// A plane (h, w) with zeros around it: (i, j) is p[(i - top) * w + j - left].
/// Hardware prefetchers do not follow to the same rows of the next plane: `ahead` is its distance in elements, or 0.
template <class T> struct padded_plane {
  const T* p;
  index_t h, w, top, left, ahead = 0;
  const T* row(index_t i) const { return p + (i - top) * w - left; }
  bool has_row(index_t i) const { return i >= top && i < top + h; }
  /// Which of the lanes of columns j, j + 1, ... lie inside.
  template <class V> unsigned lanes(index_t j) const {
    constexpr index_t W = static_cast<index_t>(V::size);
    const index_t first = std::clamp<index_t>(left - j, 0, W),
                  end = std::clamp<index_t>(left + w - j, first, W);
    return ((1u << end) - 1) & ~((1u << first) - 1);
  }
};
/// y[i, j] (+)= sum w[3 r + s] x[i0 + i + r, j0 + j + s], i < rows; NV vectors, the last with `last` lanes.
/// Each vector of x is loaded once for the three rows of results that use it.
template <class V, int NV, class T>
[[gnu::noinline]] void plane_3x3(const T* w, padded_plane<T> x, index_t i0, index_t j0, T* y, index_t y_row,
                                 index_t rows, index_t last, bool add) {
  constexpr index_t W = static_cast<index_t>(V::size);
  V f[9], acc[3][NV]; // of rows i - 2, i - 1 and i of results
  unsigned lanes[3 * NV];
  unroll<9>([&](auto t) __attribute__((always_inline)) { f[t] = V(w[t]); });
  unroll<3 * NV>([&](auto k) __attribute__((always_inline)) {
    acc[k / NV][k % NV] = V(T(0));
    lanes[k] = x.template lanes<V>(j0 + k / 3 * W + k % 3);
  });
  for (index_t i = 0; i < rows + 2; ++i) {
    if (x.has_row(i0 + i)) {
      const T* const line = x.row(i0 + i) + j0;
      unroll<NV>([&](auto j) __attribute__((always_inline)) { __builtin_prefetch(line + j * W + x.ahead); });
      unroll<3 * NV>([&](auto k) __attribute__((always_inline)) {
        constexpr int s = k.value % 3, j = k.value / 3;
        V v = load_lanes<V>(line + j * W + s, lanes[k]);
        opaque(v);
        unroll<3>([&](auto r) __attribute__((always_inline)) {
          acc[2 - r.value][j] = fma(f[3 * r.value + s], v, acc[2 - r.value][j]);
        });
      });
    }
    if (i >= 2) {
      unroll<NV>([&](auto j) __attribute__((always_inline)) {
        T* const q = y + j * W;
        if (j < NV - 1 || last == W) store(q, add ? load<V>(q) + acc[0][j] : acc[0][j]);
        else store_n(q, add ? load_n<V>(q, last) + acc[0][j] : acc[0][j], last);
      });
      y += y_row;
    }
    unroll<NV>([&](auto j) __attribute__((always_inline)) {
      acc[0][j] = acc[1][j], acc[1][j] = acc[2][j], acc[2][j] = V(T(0));
    });
  }
}
/// All columns of `rows` rows of results from row i0 on.
template <class V, class T> void plane_in_place(const T* w, const padded_plane<T>& x, index_t i0, T* y,
                                                index_t rows, index_t cols, bool add) {
  constexpr index_t W = static_cast<index_t>(V::size);
  index_t j = 0;
  for (; cols - j > W; j += 2 * W)
    plane_3x3<V, 2>(w, x, i0, j, y + j, cols, rows, std::min(W, cols - j - W), add);
  if (j < cols) plane_3x3<V, 1>(w, x, i0, j, y + j, cols, rows, cols - j, add);
}
template <class V, class T>
void plane(int taps, const index_t* tap, const T* w, const T* x, index_t x_row, T* y, index_t y_row,
           index_t rows, index_t cols, bool add) {
  constexpr index_t W = static_cast<index_t>(V::size);
  index_t j = 0;
  while (j < cols) {
    const index_t left = cols - j;
    const auto run = [&](auto r, auto nv) {
      const index_t last = std::min(W, left - (nv.value - 1) * W);
      for (index_t i = 0; i < rows; i += r.value)
        plane_block<V, r.value, nv.value>(taps, tap, w, x + i * x_row + j, x_row, y + i * y_row + j, y_row,
                                          std::min<index_t>(r.value, rows - i), last, add);
      j += nv.value * W;
    };
    if (left > 3 * W) run(std::integral_constant<int, 3>{}, std::integral_constant<int, 4>{});
    else if (left > W) run(std::integral_constant<int, 6>{}, std::integral_constant<int, 2>{});
    else run(std::integral_constant<int, 8>{}, std::integral_constant<int, 1>{});
  }
}

/// Rows of a plane with `cols` columns to take at a time: few pages are open at once. In dgrad they stay in cache
/// for all planes of dy.
constexpr index_t rows_near_by(index_t cols) { return std::max<index_t>(16, (1 << 13) / cols); }

/// Channels of a chunk: enough work to be worth its start.
constexpr index_t planes_of_chunk(const conv_extents& e, index_t area) {
  const index_t work = std::max<index_t>(area, 1) * e.k / e.groups * e.r * e.s;
  return std::clamp<index_t>((1 << 18) / work, 1, e.c);
}

template <class V> struct depthwise_fprop {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    return {.each = reads_in_place<V>(e) ? 0 : fprop_plan<T, V>(e).tile.size()};
  }
  template <class Team> static void pack(const Team&, const conv_extents&, const T*, T*) {}
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T* w, T* y,
                                        const scratch_of_kernel<T>& s) {
    const fprop_plan<T, V> plan(e);
    const image_tile& t = plan.tile;
    const index_t taps = e.r * e.s, rows = std::max<index_t>(plan.band * e.q, 1);
    const index_t filters = std::clamp<index_t>((1 << 20) / (rows * taps), 1, plan.kg); // of one chunk
    const index_t cuts = ceil_div(plan.kg, filters);
    const index_t units = e.n * e.c * plan.bands * cuts; // (image, channel, band, filters)
    const index_t part = plan.bands * cuts > 1 ? 1 : planes_of_chunk(e, e.p * e.q);
    const bool in_place = reads_in_place<V>(e);
    team.run(ceil_div(units, part), [&](index_t chunk, int member) {
      T* const xs = in_place ? nullptr : s.each + member * t.size();
      for (index_t u = chunk * part; u < std::min(units, (chunk + 1) * part); ++u) {
        const index_t z = u / (plan.bands * cuts), i = u / cuts % plan.bands * plan.band;
        const index_t k0 = z % e.c * plan.kg + u % cuts * filters;
        const index_t k1 = std::min(k0 + filters, (z % e.c + 1) * plan.kg);
        if constexpr (sizeof(V) == 64)
          if (in_place) {
            for (index_t k = k0; k < k1; ++k)
              plane_in_place<V>(w + k * taps, {x + z * e.h * e.w, e.h, e.w, e.pad_top, e.pad_left}, i,
                                y + ((z / e.c * e.k + k) * e.p + i) * e.q, std::min(plan.band, e.p - i), e.q,
                                false);
            continue;
          }
        fill<V>(t, xs, x + z * e.h * e.w, e.h, e.w, i * e.stride_h - e.pad_top, -e.pad_left);
        for (index_t first = 0; first < taps; first += tap_block) {
          index_t at[tap_block];
          const int count = static_cast<int>(std::min<index_t>(tap_block, taps - first));
          for (int b = 0; b < count; ++b) at[b] = plan.tap(e, first + b);
          for (index_t k = k0; k < k1; ++k)
            plane<V>(count, at, w + k * taps + first, xs, e.stride_h * t.line(),
                     y + ((z / e.c * e.k + k) * e.p + i) * e.q, e.q, std::min(plan.band, e.p - i), e.q,
                     first > 0);
        }
      }
    });
  }
};

template <class V> struct depthwise_dgrad {
  using T = typename V::value_type;
  // A tile of one plane of dy, and rows of dx sorted by residue.
  struct plan : dgrad_plan<T, V> {
    image_tile one;
    constexpr explicit plan(const conv_extents& e)
        : dgrad_plan<T, V>(e), one{1, this->tile.rows, 1, this->tile.width} {}
    constexpr index_t size(const conv_extents& e) const {
      return one.size() + (e.stride_w > 1 ? e.stride_w * this->band * this->columns : 0);
    }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    return {.packed = e.k * e.r * e.s, .each = reads_in_place<V>(e) ? 0 : plan(e).size(e)};
  }
  /// packed: (k, residue, tap of the residue)
  template <class Team> static void pack(const Team&, const conv_extents& e, const T* w, T* packed) {
    for (index_t k = 0; k < e.k; ++k)
      for (index_t fy = 0; fy < e.stride_h; ++fy)
        for (index_t fx = 0; fx < e.stride_w; ++fx)
          each_tap(e, fy, fx, [&](index_t r, index_t s) { *packed++ = w[(k * e.r + r) * e.s + s]; });
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* dy, const T*, T* dx,
                                        const scratch_of_kernel<T>& scratch) {
    const plan p(e);
    const index_t planes = planes_of_chunk(e, e.h * e.w), taps = e.r * e.s, all = e.n * e.c;
    if constexpr (sizeof(V) == 64)
      if (reads_in_place<V>(e)) {
        const index_t band = p.kg > 1 ? rows_near_by(e.w) : e.h, bands = ceil_div(e.h, band);
        const index_t units = all * bands, part = bands > 1 ? 1 : planes; // (image, channel, band)
        return team.run(ceil_div(units, part), [&](index_t chunk, int) {
          for (index_t u = chunk * part; u < std::min(units, (chunk + 1) * part); ++u)
            for (index_t m = 0; m < p.kg; ++m) {
              const index_t z = u / bands, i = u % bands * band, k = z % e.c * p.kg + m;
              T reversed[9];
              std::reverse_copy(scratch.packed + k * 9, scratch.packed + k * 9 + 9, reversed);
              plane_in_place<V, T>(
                  reversed,
                  {dy + (z / e.c * e.k + k) * e.p * e.q, e.p, e.q, 2 - e.pad_top, 2 - e.pad_left, e.p * e.q},
                  i, dx + (z * e.h + i) * e.w, std::min(band, e.h - i), e.w, m > 0);
            }
        });
      }
    team.run(ceil_div(all, planes), [&](index_t chunk, int member) {
      T* const ds = scratch.each + member * p.size(e);
      T* const out = ds + p.one.size(); // (residue of the column, row, column)
      for (index_t z = chunk * planes; z < std::min(all, (chunk + 1) * planes); ++z)
        for (index_t i = 0; i < ceil_div(e.h, e.stride_h); i += p.band)
          for (index_t m = 0; m < p.kg; ++m) {
            const index_t k = z % e.c * p.kg + m;
            fill<V>(p.one, ds, dy + (z / e.c * e.k + k) * e.p * e.q, e.p, e.q, i + p.see.low_h, p.see.low_w);
            const T* ws = scratch.packed + k * taps;
            for (index_t fy = 0; fy < e.stride_h; ++fy) {
              const index_t rows = std::min(p.band, ceil_div(e.h - fy, e.stride_h) - i);
              T* const line = dx + (z * e.h + i * e.stride_h + fy) * e.w;
              for (index_t fx = 0; fx < e.stride_w; ++fx) {
                const index_t cols = ceil_div(e.w - fx, e.stride_w);
                T* const to = e.stride_w == 1 ? line : out + fx * p.band * p.columns;
                const index_t to_row = e.stride_w == 1 ? e.stride_h * e.w : p.columns;
                index_t at[tap_block];
                int held = 0;
                bool add = m > 0 && e.stride_w == 1;
                const auto flush = [&] {
                  if (rows > 0 && cols > 0)
                    plane<V>(held, at, ws, ds, p.one.line(), to, to_row, rows, cols, add);
                  ws += held;
                  held = 0;
                  add = true;
                };
                each_tap(e, fy, fx, [&](index_t r, index_t s) {
                  at[held++] = p.see.at(e, fy, fx, r, s, p.one.line());
                  if (held == tap_block) flush();
                });
                if (held > 0 || !add) flush(); // without taps: zeros
              }
              for (index_t r = 0; e.stride_w > 1 && r < rows; ++r) {
                const T* const from = out + r * p.columns;
                T* const to = line + r * e.stride_h * e.w;
                if (m == 0) merge_residues<V>(e.w, e.stride_w, from, p.band * p.columns, to);
                else
                  for (index_t j = 0; j < e.w; ++j)
                    to[j] += from[j % e.stride_w * p.band * p.columns + j / e.stride_w];
              }
            }
          }
    });
  }
};

} // namespace tapeless::cpu
