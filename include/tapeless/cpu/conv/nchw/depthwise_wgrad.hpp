// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NCHW wgrad with one channel a group: sums over the planes of a channel in all images.
#include "../common/tile.hpp"
#include "depthwise.hpp"
#include "direct.hpp"
#include "direct_wgrad.hpp"

namespace tapeless::cpu {

/// sum[3 r + s] += sum over rows and columns of dy[i, j] * x[i0 + i + r, j + s]. Each vector is loaded once for the
/// three rows of taps. Without masks dy and x are read up to whole vectors. Ahead: prefetches the next rows of dy.
template <class V, bool Ahead, class T>
[[gnu::noinline]] void correlate_3x3(index_t rows, index_t cols, const T* dy, index_t dy_row,
                                     padded_plane<T> x, index_t i0, V (&sum)[1][9]) {
  constexpr index_t W = static_cast<index_t>(V::size);
  const auto get = [](const T* p, unsigned lanes) __attribute__((always_inline)) {
    if constexpr (sizeof(V) == 64) return load_lanes<V>(p, lanes);
    else return load<V>(p);
  };
  V acc[1][9];
  unroll<9>([&](auto t) __attribute__((always_inline)) { acc[0][t] = V(T(0)); });
  chain_sums<V, 1, 9> sums;
  const index_t chain = chain_terms;
  index_t room = chain;
  const index_t first = x.top - i0, end = first + x.h; // rows inside x
  for (index_t j = 0; j < cols; j += W) {
    const unsigned lanes[3] = {x.template lanes<V>(j), x.template lanes<V>(j + 1),
                               x.template lanes<V>(j + 2)};
    const unsigned of_dy = (1u << std::min(W, cols - j)) - 1;
    V d[3] = {V(T(0)), V(T(0)), V(T(0))}; // rows i, i - 1, i - 2
    const T *from = dy + j, *line = x.row(i0) + j;
    for (index_t i = 0; i < rows + 2; ++i, from += dy_row, line += x.w) {
      if (--room < 0) {
        sums.collect(acc);
        room = chain - 1;
      }
      d[2] = d[1], d[1] = d[0];
      d[0] = i < rows ? get(from, of_dy) : V(T(0));
      if constexpr (Ahead) __builtin_prefetch(from + rows * dy_row);
      if (i < first || i >= end) continue;
      unroll<3>([&](auto s) __attribute__((always_inline)) {
        V v = get(line + s, lanes[s]);
        opaque(v);
        unroll<3>([&](auto r) __attribute__((always_inline)) {
          acc[0][3 * r + s] = fma(d[r], v, acc[0][3 * r + s]);
        });
      });
    }
  }
  sums.finish(acc);
  unroll<9>([&](auto t) __attribute__((always_inline)) { sum[0][t] = sum[0][t] + acc[0][t]; });
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
    // and a block of the sums of a channel, and what their total has lost
    constexpr index_t each(const conv_extents& e) const { return size() + 2 * x.kg * e.r * e.s; }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    const plan p(e);
    return {.each = reads_in_place<V>(e) ? 0 : p.each(e),
            .shared = p.slots > 1 ? p.slots * e.k * e.r * e.s : 0};
  }
  static constexpr bool reads_lists(const conv_extents&) { return true; }
  /// to: (k, tap) = the sums of channels [c0, c1) over images [z0, z1), read in place.
  [[gnu::always_inline]] static inline void sums_in_place(const conv_extents& e, index_t kg,
                                                          const image_batch<T>& x, const image_batch<T>& dy,
                                                          index_t c0, index_t c1, index_t z0, index_t z1,
                                                          T* to) {
    const index_t band = rows_near_by(e.q);
    for (index_t k = c0 * kg; k < c1 * kg; ++k) {
      V sum[1][9];
      for (V& v : sum[0]) v = V(T(0));
      chain_sums<V, 1, 9> sums;
      index_t bands = 0;
      for (index_t z = z0; z < z1; ++z) {
        const T* const plane = x(z) + k / kg * e.h * e.w;
        const T* const from = dy(z) + k * e.p * e.q;
        if (z + 1 < z1) {
          prefetch(x(z + 1) + k / kg * e.h * e.w, e.h * e.w);
          prefetch(dy(z + 1) + k * e.p * e.q, e.p * e.q);
        }
        const padded_plane<T> padded{plane, e.h, e.w, e.pad_top, e.pad_left};
        for (index_t i = 0; i < e.p; i += band) {
          if (bands++ == blocks_in_order) {
            sums.collect(sum);
            bands = 1;
          }
          if (band >= e.p) correlate_3x3<V, false>(e.p, e.q, from, e.q, padded, 0, sum);
          else correlate_3x3<V, true>(std::min(band, e.p - i), e.q, from + i * e.q, e.q, padded, i, sum);
        }
      }
      sums.finish(sum);
      for (int b = 0; b < 9; ++b) to[k * 9 + b] = hsum(sum[0][b]);
    }
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
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
      const index_t c1 = std::min(e.c, c0 + p.channels), z0 = slot * e.n / slots,
                    z1 = (slot + 1) * e.n / slots;
      if constexpr (sizeof(V) == 64)
        if (reads_in_place<V>(e)) {
          sums_in_place(e, kg, x, dy, c0, c1, z0, z1, target + slot * e.k * 9);
          return;
        }
      T* const xs = s.each + member * p.each(e);
      T* const ds = xs + t.size();
      T *const block = xs + p.size(), *const lost = block + kg * taps;
      for (index_t c = c0; c < c1; ++c) {
        T* const all = target + (slot * e.k + c * kg) * taps;
        T* sum = all; // the first block, then the others
        std::fill_n(sum, kg * taps, T(0));
        index_t bands = 0, ended = 0;
        const auto end_block = [&] {
          if (ended++ > 0) add_block<V>(kg * taps, block, all, lost, ended == 2);
          std::fill_n(block, kg * taps, T(0));
          sum = block;
          bands = 0;
        };
        for (index_t z = z0; z < z1; ++z)
          for (index_t i = 0; i < e.p; i += p.x.band) {
            if (bands++ == blocks_in_order) {
              end_block();
              bands = 1;
            }
            const index_t rows = std::min(p.x.band, e.p - i);
            const T* const plane = x(z) + c * e.h * e.w;
            fill<V>(t, xs, plane, e.h, e.w, i * e.stride_h - e.pad_top, -e.pad_left);
            const bool ahead = i == 0 && z + 1 < z1;
            if (ahead) prefetch(x(z + 1) + c * e.h * e.w, e.h * e.w);
            for (index_t m = 0; m < kg; ++m) {
              const index_t k = c * kg + m;
              const T* const from = dy(z) + k * e.p * e.q;
              if (!whole) fill<V>(p.dy, ds, from, e.p, e.q, i, index_t(0));
              if (ahead) prefetch(dy(z + 1) + k * e.p * e.q, e.p * e.q);
              const T* const d = whole ? from + i * e.q : ds;
              const index_t line = whole ? e.q : p.dy.line();
              if (near) {
                V part[1][9];
                for (V& v : part[0]) v = V(T(0));
                correlate_3x3<V, false, T>(rows, e.q, d, line, {xs, rows + 2, e.stride_h * t.line(), 0, 0}, 0,
                                           part);
                for (index_t b = 0; b < 9; ++b) sum[m * 9 + b] += hsum(part[0][b]);
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
        if (ended > 0) {
          end_block();
          end_sums<V>(kg * taps, all, lost);
        }
      }
    });
    if (slots > 1) add_slices<V>(team, slots, e.k * taps, s.shared, dw);
  }
};

} // namespace tapeless::cpu
