// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Windows over planes whose elements are rows of `inner` channels.
//   x, dx: (planes, h, w, inner)   y, dy, idx: (planes, p, q, inner)   idx: flat number of the row in its plane
// Lanes are channels, so windows need not be neighbours. What the functions compute stands in pool.hpp. One chunk is one
// row of the result.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "../core/geometry.hpp"
#include "pool_window.hpp"
#include "simd.hpp"
#include "team.hpp"

namespace tapeless::cpu::detail {

template <class V, int Count> struct whole_channels {
  using T = typename V::value_type;
  static constexpr int count = Count;
  static constexpr index_t W = static_cast<index_t>(V::size);
  V load(const T* p, index_t u) const { return cpu::load<V>(p + u * W); }
  int_of<V> load(const std::int32_t* p, index_t u) const { return load_int<V>(p + u * W); }
  void store(T* p, index_t u, const V& v) const { cpu::store(p + u * W, v); }
  void store(std::int32_t* p, index_t u, const int_of<V>& v) const { store_int(p + u * W, v); }
};
template <class V> struct some_channels {
  using T = typename V::value_type;
  static constexpr int count = 1;
  index_t n;
  V load(const T* p, index_t) const { return load_n<V>(p, n); }
  int_of<V> load(const std::int32_t* p, index_t) const { return load_int_n<V>(p, n); }
  void store(T* p, index_t, const V& v) const { store_n(p, v, n); }
  void store(std::int32_t* p, index_t, const int_of<V>& v) const { store_int_n(p, v, n); }
};
/// f(first channel, how to read and write): four vectors at a time, one, then what is left.
template <class V, class F> [[gnu::always_inline]] inline void each_channel_block(index_t inner, F&& f) {
  constexpr index_t W = static_cast<index_t>(V::size);
  index_t c = 0;
  for (; c + 4 * W <= inner; c += 4 * W) f(c, whole_channels<V, 4>{});
  for (; c + W <= inner; c += W) f(c, whole_channels<V, 1>{});
  if (c < inner) f(c, some_channels<V>{inner - c});
}

/// f(plane, window) for every window.
template <class Team, class F>
void each_window_of_rows(const Team& team, const window_extents& e, const F& f) {
  team.run(e.planes * e.p, [&](index_t chunk, int) {
    for (index_t j = 0; j < e.q; ++j) f(chunk / e.p, window::alone(e, chunk % e.p, j));
  });
}

template <class V, class Team, class T, class R>
void rows_first_max(const Team& team, const window_extents& e, const T* x, R* y) {
  constexpr bool position = std::is_same_v<R, std::int32_t>;
  using I = int_of<V>;
  each_window_of_rows(team, e, [&](index_t z, const window& t) {
    const T* const plane = x + z * e.h * e.w * e.inner;
    R* const out = y + (z * e.p * e.q + t.at) * e.inner;
    if (t.empty()) return void(std::fill_n(out, e.inner, R(0)));
    const auto number = [](index_t at) { return I(static_cast<typename I::value_type>(at)); };
    each_channel_block<V>(e.inner, [&](index_t c, auto block) __attribute__((always_inline)) {
      constexpr int N = decltype(block)::count;
      V best[N];
      I winner[N];
      for (int u = 0; u < N; ++u) {
        best[u] = V(-std::numeric_limits<T>::infinity());
        winner[u] = number(t.tap(e, t.rows.first, t.cols.first));
      }
      t.each_tap(e, [&](index_t here, auto) __attribute__((always_inline)) {
        unroll<N>([&](auto u) __attribute__((always_inline)) {
          const V v = block.load(plane + here * e.inner + c, u);
          const auto wins = best[u] == best[u] && !(v <= best[u]); // v <= NaN is false
          best[u] = select(wins, v, best[u]);
          if constexpr (position)
            winner[u] = select(mask_cast<typename I::value_type>(wins), number(here), winner[u]);
        });
      });
      unroll<N>([&](auto u) __attribute__((always_inline)) {
        if constexpr (position) block.store(out + c, u, winner[u]);
        else block.store(out + c, u, best[u]);
      });
    });
  });
}

template <class V, class Team, class T>
void rows_sum(const Team& team, const window_extents& e, T factor, const T* x, T* y) {
  each_window_of_rows(team, e, [&](index_t z, const window& t) {
    const T* const plane = x + z * e.h * e.w * e.inner;
    T* const out = y + (z * e.p * e.q + t.at) * e.inner;
    each_channel_block<V>(e.inner, [&](index_t c, auto block) __attribute__((always_inline)) {
      constexpr int N = decltype(block)::count;
      V sum[N];
      for (V& v : sum) v = V(T(0));
      t.each_tap(e, [&](index_t here, auto) __attribute__((always_inline)) {
        unroll<N>([&](auto u) __attribute__((always_inline)) {
          sum[u] += block.load(plane + here * e.inner + c, u);
        });
      });
      unroll<N>([&](auto u) __attribute__((always_inline)) { block.store(out + c, u, sum[u] * V(factor)); });
    });
  });
}

template <class Team, class T>
void rows_gather(const Team& team, const window_extents& e, const T* x, const std::int32_t* idx, T* y) {
  team.run(e.planes * e.p, [&](index_t chunk, int) {
    const T* const plane = x + chunk / e.p * e.h * e.w * e.inner;
    for (index_t i = chunk * e.q; i < (chunk + 1) * e.q; ++i)
      for (index_t c = 0; c < e.inner; ++c) y[i * e.inner + c] = plane[idx[i * e.inner + c] * e.inner + c];
  });
}

/// The windows of one axis that see element `at`: first, first + step, ... below last.
struct seeing_windows {
  index_t first, last, step;
  constexpr seeing_windows(index_t at, index_t pad, index_t taps, index_t dil, index_t stride,
                           index_t windows)
      : first(std::max<index_t>((at + pad - (taps - 1) * dil + stride - 1) / stride, 0)),
        last(std::min((at + pad) / stride + 1, windows)),
        step(dil / std::gcd(stride, dil)) {
    while (first < last && (at + pad - first * stride) % dil != 0) ++first;
  }
};
/// dx[y, x, c] = sum over the windows that see the row, in their order, of term(block, offset of the window's first
/// channel, c, u, number of the row).
template <class V, class Team, class T, class F>
void pull_rows(const Team& team, const window_extents& e, T* dx, const F& term) {
  team.run(e.planes * e.h, [&](index_t chunk, int) {
    const index_t z = chunk / e.h, y = chunk % e.h;
    const seeing_windows rows(y, e.pad_top, e.r, e.dil_h, e.stride_h, e.p);
    for (index_t x = 0; x < e.w; ++x) {
      const seeing_windows cols(x, e.pad_left, e.s, e.dil_w, e.stride_w, e.q);
      each_channel_block<V>(e.inner, [&](index_t c, auto block) __attribute__((always_inline)) {
        constexpr int N = decltype(block)::count;
        V sum[N];
        for (V& v : sum) v = V(T(0));
        for (index_t i = rows.first; i < rows.last; i += rows.step)
          for (index_t j = cols.first; j < cols.last; j += cols.step)
            unroll<N>([&](auto u) __attribute__((always_inline)) {
              sum[u] += term(block, ((z * e.p + i) * e.q + j) * e.inner + c, u, y * e.w + x);
            });
        unroll<N>([&](auto u) __attribute__((always_inline)) {
          block.store(dx + (chunk * e.w + x) * e.inner + c, u, sum[u]);
        });
      });
    }
  });
}
template <class V, class Team, class T>
void rows_scatter(const Team& team, const window_extents& e, const std::int32_t* idx, const T* dy, T* dx) {
  using I = int_of<V>;
  pull_rows<V>(team, e, dx,
               [=](auto block, index_t from, auto u, index_t here) __attribute__((always_inline)) {
                 const auto mine = block.load(idx + from, u) == I(static_cast<typename I::value_type>(here));
                 return select(mask_cast<T>(mine), block.load(dy + from, u), V(T(0)));
               });
}
template <class V, class Team, class T>
void rows_spread(const Team& team, const window_extents& e, T factor, const T* dy, T* dx) {
  pull_rows<V>(team, e, dx, [=](auto block, index_t from, auto u, index_t) __attribute__((always_inline)) {
    return V(factor) * block.load(dy + from, u);
  });
}

} // namespace tapeless::cpu::detail
