// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Transposes of pools over planes whose elements are rows of channels: each row takes from the windows that see it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include "../../core/geometry.hpp"
#include "../base/long_sums.hpp"
#include "nhwc.hpp"
#include "window.hpp"

namespace tapeless::cpu {

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
/// The most windows that see one element.
constexpr index_t most_windows_of_element(const window_extents& e) {
  const auto most = [](index_t taps, index_t dil, index_t stride, index_t windows) {
    return std::min(windows, ((taps - 1) * dil + stride) / stride);
  };
  return most(e.r, e.dil_h, e.stride_h, e.p) * most(e.s, e.dil_w, e.stride_w, e.q);
}
/// No row of a plane is seen by two windows.
constexpr bool windows_are_apart(const window_extents& e) {
  return e.stride_h > (e.r - 1) * e.dil_h && e.stride_w > (e.s - 1) * e.dil_w;
}
/// Each row of a plane is seen by exactly one window.
constexpr bool windows_are_tiles(const window_extents& e) {
  return windows_are_apart(e) && e.stride_h == e.r && e.stride_w == e.s && e.pad_top == 0 &&
         e.pad_left == 0 && e.p * e.r == e.h && e.q * e.s == e.w;
}
/// pull_rows where at most one window sees each row.   @pre windows_are_apart(e)
template <class V, class Team, class T, class F>
void push_rows(const Team& team, const window_extents& e, T* dx, const F& term) {
  const whole_windows whole(e);
  const bool all = windows_are_tiles(e);
  team.run(e.planes * e.p, [&](index_t chunk, int) {
    const index_t z = chunk / e.p, i = chunk % e.p;
    T* const plane = dx + z * e.h * e.w * e.inner;
    const auto begin = [&](index_t of) { return std::clamp(of * e.stride_h - e.pad_top, index_t{0}, e.h); };
    const index_t lo = i == 0 ? 0 : begin(i), hi = i + 1 == e.p ? e.h : begin(i + 1);
    if (!all) std::fill(plane + lo * e.w * e.inner, plane + hi * e.w * e.inner, T(0));
    each_window_of_row(
        e, whole, z, i, [&](index_t, const window& t, auto taps) __attribute__((always_inline)) {
          const index_t from = (z * e.p * e.q + t.at) * e.inner;
          each_channel_block<V>(e.inner, [&](index_t c, auto block) __attribute__((always_inline)) {
            t.each_tap(e, taps, [&](index_t here) __attribute__((always_inline)) {
              unroll<decltype(block)::count>([&](auto u) __attribute__((always_inline)) {
                block.store(plane + here * e.inner + c, u,
                            V(T(0)) + term(block, from + c, u, here)); // -0 is +0
              });
            });
          });
        });
  });
}
/// dx[y, x, c] = sum over the windows that see the row, in their order, of term(block, offset of the window's first
/// channel + c, u, number of the row).
template <class V, class Team, class T, class F>
void pull_rows(const Team& team, const window_extents& e, T* dx, const F& term) {
  if (windows_are_apart(e)) return push_rows<V>(team, e, dx, term);
  const bool is_long = most_windows_of_element(e) > short_sum;
  team.run(e.planes * e.h, [&](index_t chunk, int) {
    const index_t z = chunk / e.h, y = chunk % e.h;
    const seeing_windows rows(y, e.pad_top, e.r, e.dil_h, e.stride_h, e.p);
    for (index_t x = 0; x < e.w; ++x) {
      const seeing_windows cols(x, e.pad_left, e.s, e.dil_w, e.stride_w, e.q);
      each_channel_block<V>(e.inner, [&](index_t c, auto block) __attribute__((always_inline)) {
        constexpr int N = decltype(block)::count;
        V sum[N], lost[N];
        for (V& v : sum) v = V(T(0));
        for (V& v : lost) v = V(T(0));
        for (index_t i = rows.first; i < rows.last; i += rows.step)
          for (index_t j = cols.first; j < cols.last; j += cols.step)
            unroll<N>([&](auto u) __attribute__((always_inline)) {
              const V v = term(block, ((z * e.p + i) * e.q + j) * e.inner + c, u, y * e.w + x);
              if (is_long) add_compensated(sum[u], lost[u], v);
              else sum[u] += v;
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

} // namespace tapeless::cpu
