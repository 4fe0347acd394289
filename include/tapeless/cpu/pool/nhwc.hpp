// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Windows over planes whose elements are rows of `inner` channels (NHWC).
//   x, dx: (planes, h, w, inner)   y, dy, idx: (planes, p, q, inner)   idx: flat number of the row in its plane
// Lanes are channels, so windows need not be neighbours. pool.hpp says what the functions compute. One chunk is one
// row of the result.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "../../core/geometry.hpp"
#include "../base/long_sums.hpp"
#include "window.hpp"
#include "../base/simd.hpp"
#include "../base/team.hpp"

namespace tapeless::cpu {

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

/// f(plane, window, taps) for every window of row i of windows.
template <class F> [[gnu::always_inline]] inline void each_window_of_row(const window_extents& e,
                                                                         const whole_windows& whole,
                                                                         index_t z, index_t i, F&& f) {
  index_t j = 0;
  const auto one_by_one = [&](index_t end) {
    for (; j < end; ++j) f(z, window::alone(e, i, j), some_taps{});
  };
  one_by_one(whole.first);
  if (j < whole.last) {
    window t = window::alone(e, i, j);
    const auto all = [&](auto taps) __attribute__((always_inline)) {
      for (; j < whole.last; ++j, ++t.at, t.x += e.stride_w) f(z, t, taps);
    };
    const auto is = [&](index_t r, index_t s) {
      return e.r == r && e.s == s && t.rows.last - t.rows.first == r;
    };
    if (is(2, 2)) all(all_taps<2, 2>{});
    else if (is(3, 3)) all(all_taps<3, 3>{});
    else all(some_taps{});
  }
  one_by_one(e.q);
}
/// The same, for every row of every plane.
template <class Team, class F>
void each_window_of_rows(const Team& team, const window_extents& e, const F& f) {
  const whole_windows whole(e);
  team.run(e.planes * e.p,
           [&](index_t chunk, int) { each_window_of_row(e, whole, chunk / e.p, chunk % e.p, f); });
}

template <class V, bool Positions, bool Values, class Team, class T>
void rows_first_max(const Team& team, const window_extents& e, const T* x, std::int32_t* idx, T* y) {
  using I = int_of<V>;
  each_window_of_rows(team, e, [&](index_t z, const window& t, auto taps) __attribute__((always_inline)) {
    const T* const plane = x + z * e.h * e.w * e.inner;
    const index_t out = (z * e.p * e.q + t.at) * e.inner;
    if (t.empty()) {
      if constexpr (Positions) std::fill_n(idx + out, e.inner, 0);
      if constexpr (Values) std::fill_n(y + out, e.inner, T(0));
      return;
    }
    const auto number = [](index_t at) { return I(static_cast<typename I::value_type>(at)); };
    each_channel_block<V>(e.inner, [&](index_t c, auto block) __attribute__((always_inline)) {
      constexpr int N = decltype(block)::count;
      V best[N];
      I winner[N];
      const index_t first = t.tap(e, t.rows.first, t.cols.first);
      unroll<N>([&](auto u) __attribute__((always_inline)) {
        best[u] = V(-std::numeric_limits<T>::infinity());
        winner[u] = number(first);
      });
      t.each_tap(e, taps, [&](index_t here) __attribute__((always_inline)) {
        unroll<N>([&](auto u) __attribute__((always_inline)) {
          const V v = block.load(plane + here * e.inner + c, u);
          const auto stays = v <= best[u], number_so_far = best[u] == best[u]; // v <= NaN is false
          if constexpr (Positions) {
            using P = typename I::value_type;
            const I other = select(mask_cast<P>(stays), winner[u], number(here));
            winner[u] = select(mask_cast<P>(number_so_far), other, winner[u]);
          }
          best[u] = select(number_so_far, select(stays, best[u], v), best[u]);
        });
      });
      unroll<N>([&](auto u) __attribute__((always_inline)) {
        if constexpr (Positions) block.store(idx + out + c, u, winner[u]);
        if constexpr (Values) block.store(y + out + c, u, best[u]);
      });
    });
  });
}

/// Sums of V over the taps of a window. Long: chains of short_sum taps are added to high + low.
template <class V, int N, bool Long> struct long_window_sum {
  V chain[N];
  struct pairs {
    V high[N], low[N];
  };
  struct none {};
  std::conditional_t<Long, pairs, none> of;
  index_t taps = 0;

  long_window_sum() {
    for (int u = 0; u < N; ++u) chain[u] = zero_of<V>();
    if constexpr (Long)
      for (int u = 0; u < N; ++u) of.high[u] = of.low[u] = zero_of<V>();
  }
  [[gnu::always_inline]] void end_tap() {
    if constexpr (Long)
      if (++taps == short_sum) {
        for (int u = 0; u < N; ++u) end_chain(of.high[u], of.low[u], chain[u]);
        taps = 0;
      }
  }
  /// chain: the sums
  [[gnu::always_inline]] void end() {
    if constexpr (Long)
      for (int u = 0; u < N; ++u) {
        end_chain(of.high[u], of.low[u], chain[u]);
        chain[u] = sum_of(of.high[u], of.low[u]);
      }
  }
};
template <class V, bool Long, class Team, class T>
void rows_sum(const Team& team, const window_extents& e, T factor, const T* x, T* y) {
  each_window_of_rows(team, e, [&](index_t z, const window& t, auto taps) __attribute__((always_inline)) {
    const T* const plane = x + z * e.h * e.w * e.inner;
    T* const out = y + (z * e.p * e.q + t.at) * e.inner;
    each_channel_block<V>(e.inner, [&](index_t c, auto block) __attribute__((always_inline)) {
      constexpr int N = decltype(block)::count;
      long_window_sum<V, N, Long> sum;
      t.each_tap(e, taps, [&](index_t here) __attribute__((always_inline)) {
        unroll<N>([&](auto u) __attribute__((always_inline)) {
          sum.chain[u] += block.load(plane + here * e.inner + c, u);
        });
        sum.end_tap();
      });
      sum.end();
      unroll<N>([&](auto u)
                    __attribute__((always_inline)) { block.store(out + c, u, sum.chain[u] * V(factor)); });
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

} // namespace tapeless::cpu
