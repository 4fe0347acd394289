// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NHWC depthwise wgrad: lanes are channels. Sums over rectangles of results with the same taps stay in registers.
// Sums over parts of the batch (slots) are added in their order.
#include "../common/tile.hpp"
#include "depthwise.hpp"

namespace tapeless::cpu {

/// sum[t, lane] += sum over rows x cols results of dy * x[at[t]], lanes as in depthwise_pixels but for whole vectors
/// of sums
template <class V, int N, class T>
[[gnu::noinline]] void depthwise_sums(index_t rows, index_t cols, index_t lanes, const T* dy, index_t dy_row,
                                      index_t dy_col, const T* x, index_t x_row, index_t x_col,
                                      const index_t* at, T* const* sum) {
  constexpr index_t W = static_cast<index_t>(V::size);
  index_t place[N];
  unroll<N>([&](auto t) __attribute__((always_inline)) { place[t] = at[t]; });
  for (index_t l = 0; l < lanes; l += W) {
    const index_t n = std::min(W, lanes - l);
    V acc[N];
#pragma GCC unroll 16
    for (int t = 0; t < N; ++t) acc[t] = V(T(0));
    const first_lanes<V> few(n);
    const auto all = [&](auto masked) __attribute__((always_inline)) {
      for (index_t i = 0; i < rows; ++i) {
        const T* d = dy + i * dy_row + l;
        const T* p = x + i * x_row + l;
        for (index_t j = 0; j < cols; ++j, d += dy_col, p += x_col) {
          V v = masked.value ? few.load(d) : load<V>(d);
          opaque(v);
#pragma GCC unroll 16
          for (int t = 0; t < N; ++t)
            acc[t] = fma(v, masked.value ? few.load(p + place[t]) : load<V>(p + place[t]), acc[t]);
        }
      }
    };
    if (n == W) all(std::false_type{});
    else all(std::true_type{});
#pragma GCC unroll 16
    for (int t = 0; t < N; ++t) store(sum[t] + l, load<V>(sum[t] + l) + acc[t]);
  }
}

/// The same for 3 x 3 taps that meet neighbouring elements, Stride of them from result to result: tap (r, s) at
/// r * tap_row + s * tap_col; x is loaded once for all taps of a row.
template <class V, int Stride, class T>
[[gnu::noinline]] void depthwise_sums_3x3(index_t rows, index_t cols, index_t lanes, const T* dy,
                                          index_t dy_row, index_t dy_col, const T* x, index_t x_row,
                                          index_t tap_row, index_t tap_col, T* const* sum) {
  constexpr index_t W = static_cast<index_t>(V::size);
  for (index_t l = 0; l < lanes; l += W) {
    V acc[3][3];
#pragma GCC unroll 16
    for (int t = 0; t < 9; ++t) acc[t / 3][t % 3] = V(T(0));
    for (index_t i = 0; i < rows; ++i) {
      const T* d = dy + i * dy_row + l;
      const T* p = x + i * x_row + l;
      const auto some = [&](auto q) __attribute__((always_inline)) {
        constexpr int Q = q.value;
        V v[Q];
#pragma GCC unroll 16
        for (int j = 0; j < Q; ++j, d += dy_col) v[j] = load<V>(d);
#pragma GCC unroll 16
        for (int r = 0; r < 3; ++r) {
          const T* from = p + r * tap_row;
#pragma GCC unroll 16
          for (int k = 0; k < (Q - 1) * Stride + 3; ++k, from += tap_col) {
            V y = load<V>(from);
            opaque(y);
#pragma GCC unroll 16
            for (int s = 0; s < 3; ++s)
              if (const int at = k - s; at >= 0 && at % Stride == 0 && at / Stride < Q)
                acc[r][s] = fma(v[at / Stride], y, acc[r][s]);
          }
        }
        p += Q * Stride * tap_col;
      };
      index_t j = 0;
      for (; j + 4 <= cols; j += 4) some(std::integral_constant<int, 4>{});
      for (; j < cols; ++j) some(std::integral_constant<int, 1>{});
    }
#pragma GCC unroll 16
    for (int t = 0; t < 9; ++t) store(sum[t] + l, load<V>(sum[t] + l) + acc[t / 3][t % 3]);
  }
}

template <class V> struct nhwc_depthwise_wgrad {
  using T = typename V::value_type;
  static constexpr index_t W = static_cast<index_t>(V::size);
  static constexpr int N = 9; // taps at a time
  struct plan {
    index_t lanes, bands, slots;
    constexpr explicit plan(const conv_extents& e) : lanes(round_up(e.c, W)) {
      const index_t rows = std::max<index_t>(e.p, 1), work = e.c * std::max<index_t>(e.q, 1) * e.r * e.s;
      bands = ceil_div(rows, std::clamp<index_t>((1 << 19) / work, 1, rows));
      slots = std::clamp<index_t>(work * rows / (1 << 12), 1, 8);
    }
    constexpr index_t size(const conv_extents& e) const { return lanes * e.r * e.s; }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    return {.shared = 3 * plan(e).slots * plan(e).size(e)};
  }
  static constexpr bool reads_lists(const conv_extents&) { return true; }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    const plan p(e);
    const index_t taps = e.r * e.s, units = e.n * p.bands, slots = std::min(p.slots, units), size = p.size(e);
    if (units == 0) return void(std::fill_n(dw, e.c * taps, T(0)));
    const depthwise_axis v = vertical(e, false), h = horizontal(e, false);
    const channel_parts<V> parts(e.c, team.size() == 1 ? 1 : 4 * team.size() / slots);
    team.run(slots * parts.parts, [&](index_t chunk, int) {
      const index_t slot = chunk / parts.parts, part = chunk % parts.parts;
      const index_t c0 = parts.begin(part), c1 = parts.begin(part + 1);
      // sums: (slot, tap, c); then for each slot a block, and what its total has lost
      T *const sum = s.shared + slot * size, *const block = sum + slots * size,
               *const lost = block + slots * size;
      const index_t lanes = round_up(c1 - c0, W);
      index_t pieces = 0, blocks = 0;
      const auto end_block = [&] {
        for (index_t t = 0; t < taps; ++t) {
          const index_t at = t * p.lanes + c0;
          if (blocks > 0) add_block<V>(lanes, block + at, sum + at, lost + at, blocks == 1);
          zero_row<V>(block + at, lanes);
        }
        ++blocks;
        pieces = 0;
      };
      for (index_t t = 0; t < taps; ++t) zero_row<V>(sum + t * p.lanes + c0, lanes);
      for (index_t u = slot * units / slots; u < (slot + 1) * units / slots; ++u) {
        const index_t z = u / p.bands, b = u % p.bands;
        v.each_segment(0, b * e.p / p.bands, (b + 1) * e.p / p.bands,
                       [&](index_t i, index_t high, const taps_of_axis& r) {
                         h.each_segment(0, 0, e.q, [&](index_t j, index_t wide, const taps_of_axis& c) {
                           each_piece(high, wide, [&](index_t i0, index_t rows, index_t j0, index_t cols) {
                             if (pieces++ == blocks_in_order) {
                               end_block();
                               pieces = 1;
                             }
                             piece(e, p, rows, r, cols, c, c1 - c0,
                                   x(z) + c0 + (i0 * e.stride_h * e.w + j0 * e.stride_w) * e.c,
                                   dy(z) + ((i + i0) * e.q + j + j0) * e.c + c0,
                                   (blocks == 0 ? sum : block) + c0);
                           });
                         });
                       });
      }
      if (blocks == 0) return;
      end_block();
      for (index_t t = 0; t < taps; ++t) end_sums<V>(lanes, sum + t * p.lanes + c0, lost + t * p.lanes + c0);
    });
    for (index_t slot = 1; slot < slots; ++slot)
      for (index_t j = 0; j < size; ++j) s.shared[j] += s.shared[slot * size + j];
    transpose<V>(taps, e.c, s.shared, p.lanes, dw, taps);
  }

private:
  /// f(row, rows, column, columns) for parts of a rectangle: each is one chain of sums, and stays in the cache.
  template <class F> static void each_piece(index_t high, index_t wide, F&& f) {
    const index_t cols = ceil_div(wide, ceil_div(wide, one_chain)),
                  rows = std::max<index_t>(one_chain / cols, 1);
    for (index_t i = 0; i < high; i += rows)
      for (index_t j = 0; j < wide; j += cols) f(i, std::min(rows, high - i), j, std::min(cols, wide - j));
  }
  static void piece(const conv_extents& e, const plan& p, index_t high, const taps_of_axis& r, index_t wide,
                    const taps_of_axis& c, index_t lanes, const T* x, const T* dy, T* sum) {
    const bool near = e.stride_w == e.dil_w, next_but_one = e.stride_w == 2 * e.dil_w;
    const index_t taps = r.count * c.count;
    for (index_t first = 0; first < taps; first += N) {
      index_t at[N];
      T* to[N];
      const index_t count = std::min<index_t>(N, taps - first);
      for (index_t t = 0; t < count; ++t) {
        const index_t y = (first + t) / c.count, s = (first + t) % c.count;
        at[t] = ((r.from + y * e.dil_h) * e.w + c.from + s * e.dil_w) * e.c;
        to[t] = sum + ((r.first + y) * e.s + c.first + s) * p.lanes;
      }
      if (r.count == 3 && c.count == 3 && lanes % W == 0 && (near || next_but_one)) {
        if (near)
          depthwise_sums_3x3<V, 1>(high, wide, lanes, dy, e.q * e.c, e.c, x + at[0], e.stride_h * e.w * e.c,
                                   e.dil_h * e.w * e.c, e.dil_w * e.c, to);
        else
          depthwise_sums_3x3<V, 2>(high, wide, lanes, dy, e.q * e.c, e.c, x + at[0], e.stride_h * e.w * e.c,
                                   e.dil_h * e.w * e.c, e.dil_w * e.c, to);
        continue;
      }
      unroll<N>([&](auto n) {
        if (count != n.value + 1) return;
        depthwise_sums<V, n.value + 1>(high, wide, lanes, dy, e.q * e.c, e.c, x, e.stride_h * e.w * e.c,
                                       e.stride_w * e.c, at, to);
      });
    }
  }
};

} // namespace tapeless::cpu
