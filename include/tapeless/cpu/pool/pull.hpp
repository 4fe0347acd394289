// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Gradients of pools in planes: each element of dx asks the windows that see it.
#include <algorithm>
#include <numeric>
#include <utility>

#include "../../core/geometry.hpp"
#include "../base/long_sums.hpp"
#include "../base/simd.hpp"
#include "nhwc_pull.hpp"
#include "window_lanes.hpp"

namespace tapeless::cpu {

/// dx[y, x] = sum of term(how, window, y * e.w + x) over the windows that see it, in their order. A vector holds every
/// Stride-th element. Returns false, and writes nothing, if no two lanes have all windows.
template <class V, int Stride, class T, class F>
bool pull_in_lanes(const window_extents& e, T* dx, const F& term) {
  constexpr index_t W = static_cast<index_t>(V::size);
  // Column Stride * a + f - pad_left sees window a - (t - f) / Stride through the tap at t. For a in [low, high) all
  // of those windows exist.
  const index_t low = std::max((e.s - 1) * e.dil_w / Stride, (e.pad_left + Stride - 1) / Stride);
  const index_t high = std::min(e.q, (e.w + e.pad_left) / Stride);
  if (high - low < 2) return false;
  const index_t step = e.dil_h / std::gcd(e.stride_h, e.dil_h);
  const bool is_long = most_windows_of_element(e) > short_sum;
  const auto add = [=](auto& sum, auto& lost, const auto& v) __attribute__((always_inline)) {
    if (is_long) add_compensated(sum, lost, v);
    else sum += v;
  };
  // every vector of a row is whole cache lines
  const bool past_caches = e.planes * e.h * e.w * index_t{sizeof(T)} >= larger_than_caches &&
                           e.w * index_t{sizeof(T)} % 64 == 0 && (high - low) % W == 0 &&
                           lines_up(dx + Stride * low - e.pad_left);
  const auto put = [=](T* p, const V& v) __attribute__((always_inline)) {
    if (past_caches) store_past_caches(p, v);
    else store(p, v);
  };
  for (index_t y = 0; y < e.h; ++y) {
    const index_t top = y + e.pad_top; // rows of windows that see y: first, first + step, ... below last
    index_t first = std::max<index_t>((top - (e.r - 1) * e.dil_h + e.stride_h - 1) / e.stride_h, 0);
    const index_t last = std::min(top / e.stride_h + 1, e.p);
    while (first < last && (top - first * e.stride_h) % e.dil_h != 0) ++first;
    const auto one_by_one = [&](index_t x, index_t end) {
      for (; x < end; ++x) {
        T sum(0), lost(0);
        for (index_t i = first; i < last; i += step)
          for (index_t s = e.s - 1; s >= 0; --s)
            if (const index_t at = x + e.pad_left - s * e.dil_w;
                at >= 0 && at % Stride == 0 && at / Stride < e.q)
              add(sum, lost, term(one_window<T>{}, i * e.q + at / Stride, y * e.w + x));
        dx[y * e.w + x] = sum;
      }
    };
    // to(column, vector) stores one
    const auto in_lanes = [&](index_t a, const auto& how, const auto& to) __attribute__((always_inline)) {
      const index_t x = Stride * a - e.pad_left;
      V sum[2] = {V(T(0)), V(T(0))}, lost[2] = {V(T(0)), V(T(0))}; // of even t, of odd t
      for (index_t i = first; i < last; i += step)
        for (index_t t = (e.s - 1) * e.dil_w; t >= 0; t -= e.dil_w) {
          const index_t f = t % Stride;
          const V v = term(how, i * e.q + a - t / Stride, y * e.w + x + f);
          if (f != 0) add(sum[1], lost[1], v);
          else add(sum[0], lost[0], v);
        }
      if constexpr (Stride == 1) to(x, sum[0]);
      else
        [&]<int... L>(std::integer_sequence<int, L...>) {
          constexpr int half = static_cast<int>(W);
          to(x, V(__builtin_shufflevector(sum[0].data, sum[1].data, (L / 2 + L % 2 * half)...)));
          to(x + W, V(__builtin_shufflevector(sum[0].data, sum[1].data, ((L + half) / 2 + L % 2 * half)...)));
        }(std::make_integer_sequence<int, static_cast<int>(W)>{});
    };
    T* const row = dx + y * e.w;
    one_by_one(0, Stride * low - e.pad_left);
    if (high - low < W) {
      const index_t end = Stride * high - e.pad_left;
      in_lanes(low, some_window_lanes<V, Stride>(high - low), [&](index_t x, const V& v) {
        if (x < end) store_n(row + x, v, std::min(W, end - x));
      });
    } else
      for (index_t block = low; block < high; block += W)
        in_lanes(std::min(block, high - W), window_lanes<V, Stride, 1>{},
                 [&](index_t x, const V& v) __attribute__((always_inline)) { put(row + x, v); });
    one_by_one(Stride * high - e.pad_left, e.w);
  }
  if (past_caches) end_stores_past_caches();
  return true;
}
template <class V, class T, class F> bool pull(const window_extents& e, T* dx, const F& term) {
  return (e.stride_w == 1 && pull_in_lanes<V, 1>(e, dx, term)) ||
         (e.stride_w == 2 && pull_in_lanes<V, 2>(e, dx, term));
}

/// dx[y, x] = sum of term(window, y * e.w + x) over the windows that see it, of which there are many.
template <class T, class F> void pull_one_by_one(const window_extents& e, T* dx, const F& term) {
  for (index_t y = 0; y < e.h; ++y) {
    const seeing_windows rows(y, e.pad_top, e.r, e.dil_h, e.stride_h, e.p);
    for (index_t x = 0; x < e.w; ++x) {
      const seeing_windows cols(x, e.pad_left, e.s, e.dil_w, e.stride_w, e.q);
      T sum(0), lost(0);
      for (index_t i = rows.first; i < rows.last; i += rows.step)
        for (index_t j = cols.first; j < cols.last; j += cols.step)
          add_compensated(sum, lost, term(i * e.q + j, y * e.w + x));
      dx[y * e.w + x] = sum;
    }
  }
}

} // namespace tapeless::cpu
