// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// cumsum along an axis: x, y (before, n, after); to_end: the sums begin at the end. A chunk is one index before the axis.
// A sum is a pair of numbers, high + low, so that rounding errors do not add up.
#pragma once
#include <type_traits>
#include "../../expr/op.hpp"
#include "../base/long_sums.hpp"
#include "../base/operand.hpp"
#include "../base/simd.hpp"

namespace tapeless::cpu {

// W neighbours after the axis, as one vector or number each. load(at), store(at, y): of the element `at`
template <class V, class Load, class Store>
[[gnu::always_inline]] inline void sums_along(index_t n, index_t stride, bool to_end, Load load_at,
                                              Store store_at) {
  V high = zero_of<V>(), low = zero_of<V>();
  for (index_t i = 0; i < n; ++i) {
    const index_t at = (to_end ? n - 1 - i : i) * stride;
    two_sum(high, low, load_at(at));
    store_at(at, sum_of(high, low));
  }
}
template <class T, class Team>
void cumsum_axis(const Team& team, index_t before, index_t n, index_t after, bool to_end, const T* x, T* y) {
  team.run(before, [&](index_t chunk, int) {
    const T* const from = x + chunk * n * after;
    T* const to = y + chunk * n * after;
    if constexpr (std::is_integral_v<T>) {
      for (index_t j = 0; j < after; ++j) {
        auto sum = std::make_unsigned_t<T>(0); // wraps around as + does
        for (index_t i = 0; i < n; ++i) {
          const index_t at = (to_end ? n - 1 - i : i) * after + j;
          sum += static_cast<std::make_unsigned_t<T>>(from[at]);
          to[at] = static_cast<T>(sum);
        }
      }
    } else {
      using V = simd<T>;
      constexpr index_t W = static_cast<index_t>(V::size);
      index_t j = 0;
      for (; j + W <= after; j += W)
        sums_along<V>(
            n, after, to_end, [=](index_t at) { return load<V>(from + at + j); },
            [=](index_t at, const V& sum) { store(to + at + j, sum); });
      for (; j < after; ++j)
        sums_along<T>(
            n, after, to_end, [=](index_t at) { return from[at + j]; },
            [=](index_t at, const T& sum) { to[at + j] = sum; });
    }
  });
}

template <> struct kernel_for<detail::op::cumsum> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    const shape& x = c.operand(0);
    cumsum_axis(team, c.before_axis(x), x.d[c.axis()], c.after_axis(x), c.step.attr2 != 0, c.in(0), c.out());
  }
};

} // namespace tapeless::cpu
