// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Convolution with one channel a group (depthwise; k / c filters see each channel): plane by plane, lanes are columns.
// A block of rows and vectors of one plane stays in registers while its taps pass.
#include "conv_columns_wgrad.hpp"

namespace tapeless::cpu::detail {

constexpr bool one_channel_a_group(const conv_extents& e) { return e.c == e.groups; }

/// y[i, j] (+)= sum_t w[t * w_step] x[i * x_row + tap[t] + j], i < rows <= R, NV vectors of which the last has `last` lanes
template <class V, int R, int NV, class T>
[[gnu::noinline]] void plane_block(int taps, const index_t* tap, const T* w, const T* x, index_t x_row, T* y,
                                   index_t y_row, index_t rows, index_t last, bool add) {
  constexpr index_t W = static_cast<index_t>(V::size);
  V acc[R][NV];
  const T* line[R]; // rows that are not there repeat the last one
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
/// The same for 3 x 3 neighbours, tap (r, s) at r * x_row + s, w in their order: what is loaded of a row meets the three
/// rows of results that see it.
template <class V, int R, int NV, class T>
[[gnu::noinline]] void plane_3x3(const T* w, const T* x, index_t x_row, T* y, index_t y_row, index_t rows,
                                 index_t last) {
  constexpr index_t W = static_cast<index_t>(V::size);
  V f[9];
  unroll<9>([&](auto t) __attribute__((always_inline)) { f[t] = V(w[t]); });
  for (; rows > 0; rows -= R, x += R * x_row, y += R * y_row) {
    V acc[R][NV];
    unroll<R>([&](auto i) __attribute__((always_inline)) {
      unroll<NV>([&](auto j) __attribute__((always_inline)) { acc[i][j] = V(T(0)); });
    });
    unroll<R + 2>([&](auto i) __attribute__((always_inline)) {
      const T* const line = x + std::min<index_t>(i.value, rows + 1) * x_row;
      unroll<3 * NV>([&](auto k) __attribute__((always_inline)) {
        constexpr int s = k.value % 3, j = k.value / 3;
        V v = load<V>(line + j * W + s);
        keep(v);
        unroll<3>([&](auto r) __attribute__((always_inline)) {
          constexpr int at = i.value - r.value;
          if constexpr (at >= 0 && at < R) acc[at][j] = fma(f[3 * r.value + s], v, acc[at][j]);
        });
      });
    });
    unroll<R>([&](auto i) __attribute__((always_inline)) {
      if (i.value >= rows) return;
      unroll<NV>([&](auto j) __attribute__((always_inline)) {
        T* const q = y + i * y_row + j * W;
        if (j < NV - 1 || last == W) store(q, acc[i][j]);
        else store_n(q, acc[i][j], last);
      });
    });
  }
}
/// Are these the taps of plane_3x3, from the first on (1) or from the last on (-1)?
inline int order_of_3x3(int taps, const index_t* tap, index_t x_row) {
  if (taps != 9) return 0;
  const index_t order = tap[1] - tap[0];
  bool all = order == 1 || order == -1;
  for (index_t t = 0; t < 9; ++t) all = all && tap[t] == tap[0] + order * (t / 3 * x_row + t % 3);
  return all ? static_cast<int>(order) : 0;
}
template <class V, class T>
void plane(int taps, const index_t* tap, const T* w, const T* x, index_t x_row, T* y, index_t y_row,
           index_t rows, index_t cols, bool add) {
  constexpr index_t W = static_cast<index_t>(V::size);
  index_t j = 0;
  if constexpr (sizeof(V) == 64) // the weights and the sums need 25 registers
    if (const int order = add ? 0 : order_of_3x3(taps, tap, x_row); order != 0) {
      T in_order[9];
      for (int t = 0; t < 9; ++t) in_order[t] = w[order > 0 ? t : 8 - t];
      x += tap[order > 0 ? 0 : 8];
      for (; cols - j > W; j += 2 * W)
        plane_3x3<V, 8, 2>(in_order, x + j, x_row, y + j, y_row, rows, std::min(W, cols - j - W));
      if (j < cols) plane_3x3<V, 8, 1>(in_order, x + j, x_row, y + j, y_row, rows, cols - j);
      return;
    }
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

/// Channels in a chunk, so that one is worth its start.
constexpr index_t planes_of_chunk(const conv_extents& e, index_t area) {
  const index_t work = std::max<index_t>(area, 1) * e.k / e.groups * e.r * e.s;
  return std::clamp<index_t>((1 << 18) / work, 1, e.c);
}

template <class V> struct depthwise_fprop {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    return {.each = fprop_plan<T, V>(e).tile.size()};
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
    team.run(ceil_div(units, part), [&](index_t chunk, int member) {
      T* const xs = s.each + member * t.size();
      for (index_t u = chunk * part; u < std::min(units, (chunk + 1) * part); ++u) {
        const index_t z = u / (plan.bands * cuts), i = u / cuts % plan.bands * plan.band;
        const index_t k0 = z % e.c * plan.kg + u % cuts * filters;
        const index_t k1 = std::min(k0 + filters, (z % e.c + 1) * plan.kg);
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
  // a tile of one plane of dy, and rows of dx by their residues
  struct plan : dgrad_plan<T, V> {
    image_tile one;
    constexpr explicit plan(const conv_extents& e)
        : dgrad_plan<T, V>(e), one{1, this->tile.rows, 1, this->tile.width} {}
    constexpr index_t size(const conv_extents& e) const {
      return one.size() + (e.stride_w > 1 ? e.stride_w * this->band * this->columns : 0);
    }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    return {.packed = e.k * e.r * e.s, .each = plan(e).size(e)};
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

/// Fetches the same plane of the next image, which is far away, while this one is at work.
template <class T> void prefetch(const T* p, index_t n) {
  constexpr index_t line = 64 / static_cast<index_t>(sizeof(T));
  for (index_t i = 0; i < std::min<index_t>(n, 1 << 14); i += line) __builtin_prefetch(p + i);
}

/// sum[3 r + s] = sum over rows and vectors of dy[.] * x[r * x_row + s + .]: each is loaded once for the three rows of taps
template <class V, class T>
[[gnu::noinline]] void correlate_3x3(index_t rows, index_t cols, const T* dy, index_t dy_row, const T* x,
                                     index_t x_row, T* sum) {
  constexpr index_t W = static_cast<index_t>(V::size);
  V acc[9];
  unroll<9>([&](auto t) __attribute__((always_inline)) { acc[t] = V(T(0)); });
  for (index_t j = 0; j < cols; j += W) {
    V d[3] = {V(T(0)), V(T(0)), V(T(0))}; // rows i, i - 1, i - 2
    const T *from = dy + j, *line = x + j;
    for (index_t i = 0; i < rows + 2; ++i, from += dy_row, line += x_row) {
      d[2] = d[1], d[1] = d[0];
      d[0] = i < rows ? load<V>(from) : V(T(0));
      unroll<3>([&](auto s) __attribute__((always_inline)) {
        V v = load<V>(line + s);
        keep(v);
        unroll<3>([&](auto r)
                      __attribute__((always_inline)) { acc[3 * r + s] = fma(d[r], v, acc[3 * r + s]); });
      });
    }
  }
  unroll<9>([&](auto t) __attribute__((always_inline)) { sum[t] = hsum(acc[t]); });
}

template <class V> struct depthwise_wgrad {
  using T = typename V::value_type;
  static constexpr int N = 9; // taps at a time
  struct plan {
    fprop_plan<T, V> x;
    image_tile dy;
    index_t channels, slots;
    constexpr explicit plan(const conv_extents& e) : x(e) {
      dy = {1, x.band, 1, round_up(e.q, static_cast<index_t>(V::size))};
      channels =
          std::clamp<index_t>((1 << 16) / (std::max<index_t>(e.p * e.q, 1) * x.kg * e.r * e.s), 1, e.c);
      slots = std::clamp<index_t>(8 * channels / e.c, 1, 8);
    }
    constexpr index_t size() const { return x.tile.size() + dy.size(); }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    const plan p(e);
    return {.each = p.size(), .shared = p.slots > 1 ? p.slots * e.k * e.r * e.s : 0};
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T* dy,
                                        T* dw, const scratch_of_kernel<T>& s) {
    const plan p(e);
    const image_tile& t = p.x.tile;
    const index_t taps = e.r * e.s, kg = p.x.kg, blocks = ceil_div(e.c, p.channels);
    const index_t slots = std::min(p.slots, e.n);
    const bool whole = e.q % static_cast<index_t>(V::size) == 0; // dy is read in place
    const bool near = e.r == 3 && e.s == 3 && e.stride_h == e.dil_h && e.stride_w == 1 && e.dil_w == 1;
    if (slots == 0) return void(std::fill_n(dw, e.k * taps, T(0)));
    T* const target = slots > 1 ? s.shared : dw; // (slot, k, tap)
    team.run(slots * blocks, [&](index_t chunk, int member) {
      const index_t slot = chunk / blocks, c0 = chunk % blocks * p.channels;
      T* const xs = s.each + member * p.size();
      T* const ds = xs + t.size();
      for (index_t c = c0; c < std::min(e.c, c0 + p.channels); ++c) {
        T* const sum = target + (slot * e.k + c * kg) * taps;
        std::fill_n(sum, kg * taps, T(0));
        for (index_t z = slot * e.n / slots; z < (slot + 1) * e.n / slots; ++z)
          for (index_t i = 0; i < e.p; i += p.x.band) {
            const index_t rows = std::min(p.x.band, e.p - i);
            const T* const plane = x + (z * e.c + c) * e.h * e.w;
            fill<V>(t, xs, plane, e.h, e.w, i * e.stride_h - e.pad_top, -e.pad_left);
            const bool ahead = i == 0 && z + 1 < (slot + 1) * e.n / slots;
            if (ahead) prefetch(plane + e.c * e.h * e.w, e.h * e.w);
            for (index_t m = 0; m < kg; ++m) {
              const T* const from = dy + (z * e.k + c * kg + m) * e.p * e.q;
              if (!whole) fill<V>(p.dy, ds, from, e.p, e.q, i, index_t(0));
              if (ahead) prefetch(from + e.k * e.p * e.q, e.p * e.q);
              const T* const d = whole ? from + i * e.q : ds;
              const index_t line = whole ? e.q : p.dy.line();
              if (near) {
                T part[9];
                correlate_3x3<V>(rows, e.q, d, line, xs, e.stride_h * t.line(), part);
                for (index_t b = 0; b < 9; ++b) sum[m * 9 + b] += part[b];
                continue;
              }
              for (index_t first = 0; first < taps; first += N) {
                index_t at[N];
                T part[N];
                for (int b = 0; b < N; ++b) at[b] = p.x.tap(e, std::min(first + b, taps - 1));
                correlate<V, 1, N>(1, rows, e.q, d, 0, line, 0, xs, at, e.stride_h * t.line(), 0, part, 0,
                                   false);
                for (index_t b = 0; b < std::min<index_t>(N, taps - first); ++b)
                  sum[m * taps + first + b] += part[b];
              }
            }
          }
      }
    });
    if (slots > 1) add_slices<V>(team, slots, e.k * taps, s.shared, dw);
  }
};

} // namespace tapeless::cpu::detail
