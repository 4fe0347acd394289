// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Running ops along an axis: operands and y (before, n, after); to_end: they begin at the end. A chunk is one index before the axis and
// a block of those after it. running_of<op> says what is kept from one element to the next.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include "../../expr/op.hpp"
#include "../base/long_sums.hpp"
#include "../base/operand.hpp"
#include "../base/simd.hpp"

namespace tapeless::cpu {

// V: a vector, or a number. next(a, b): y of the next element, of operands a and b
template <detail::op O, class V> struct running_of;

template <class V> [[gnu::always_inline]] inline V number_of(double x) {
  if constexpr (std::is_arithmetic_v<V>) return static_cast<V>(x);
  else return V(static_cast<typename V::value_type>(x));
}

// A pair of numbers, high + low, so that rounding errors do not add up.
template <class V> struct running_of<detail::op::cumsum, V> {
  V high = zero_of<V>(), low = zero_of<V>();
  [[gnu::always_inline]] V next(const V& x, const V&) {
    two_sum(high, low, x);
    return sum_of(high, low);
  }
};
template <> struct running_of<detail::op::cumsum, std::int32_t> {
  std::uint32_t sum = 0; // wraps around as + does
  std::int32_t next(std::int32_t x, std::int32_t) {
    sum += static_cast<std::uint32_t>(x);
    return static_cast<std::int32_t>(sum);
  }
};
template <class V> struct running_of<detail::op::cumprod, V> {
  V y = number_of<V>(1);
  [[gnu::always_inline]] V next(const V& x, const V&) { return y = y * x; }
};
template <class V> struct running_of<detail::op::linear_scan, V> {
  V y = zero_of<V>();
  bool begun = false;
  [[gnu::always_inline]] V next(const V& a, const V& b) {
    y = begun ? a * y + b : b;
    begun = true;
    return y;
  }
};
// A NaN, once met, stays.
template <class V> struct running_of<detail::op::cummax, V> {
  V y = number_of<V>(-std::numeric_limits<double>::infinity());
  [[gnu::always_inline]] V next(const V& x, const V&) {
    if constexpr (std::is_arithmetic_v<V>) return y = y >= x || y != y ? y : x;
    else return y = select((y >= x) | !(y == y), y, x);
  }
};
// The place of the first maximum.
template <class T> struct running_of<detail::op::cumargmax, T> {
  T y{};
  std::int32_t at = -1, first = 0;
  std::int32_t next(T x, T) {
    if (first == 0 || x > y || (x != x && y == y)) y = x, at = first;
    ++first;
    return at;
  }
};

// One line, or W neighbours after the axis as lanes of V. load(x, at), store(at, y): of the element `at`; b: nullptr where O has one
// operand
template <detail::op O, class V, class T, class Load, class Store>
[[gnu::always_inline]] inline void run_along(index_t n, index_t stride, bool to_end, const T* a, const T* b,
                                             Load load_at, Store store_at) {
  running_of<O, V> r;
  const index_t step = to_end ? -stride : stride;
  index_t at = to_end ? (n - 1) * stride : 0;
  for (index_t i = 0; i < n; ++i, at += step)
    if constexpr (O == detail::op::linear_scan) { // the coefficient from i + 1 to i is that of i + 1
      const index_t of = to_end && i > 0 ? at + stride : at;
      store_at(at, r.next(load_at(a, of), load_at(b, at)));
    } else store_at(at, r.next(load_at(a, at), V{}));
}
template <detail::op O, class T, class Y, class Team>
void scan_axis(const Team& team, index_t before, index_t n, index_t after, bool to_end, const T* a,
               const std::type_identity_t<T>* b, Y* y) {
  constexpr index_t block = 256; // columns of a chunk
  const index_t blocks = (after + block - 1) / block;
  team.run(before * blocks, [=](index_t chunk, int) {
    const index_t from = chunk / blocks * n * after, lo = chunk % blocks * block,
                  hi = std::min(after, lo + block);
    const T *const p = a + from, *const q = O == detail::op::linear_scan ? b + from : nullptr;
    Y* const to = y + from;
    index_t j = lo;
    if constexpr (std::is_floating_point_v<T> && std::is_same_v<T, Y>) {
      using V = simd<T>;
      for (constexpr index_t W = static_cast<index_t>(V::size); j + W <= hi; j += W)
        run_along<O, V>(
            n, after, to_end, p, q, [=](const T* x, index_t at) { return load<V>(x + at + j); },
            [=](index_t at, const V& v) { store(to + at + j, v); });
    }
    for (; j < hi; ++j)
      run_along<O, T>(
          n, after, to_end, p, q, [=](const T* x, index_t at) { return x[at + j]; },
          [=](index_t at, const auto& v) { to[at + j] = v; });
  });
}

template <detail::op O>
  requires(detail::is_scan(O))
struct kernel_for<O> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    using Y = std::conditional_t<O == detail::op::cumargmax, std::int32_t, T>;
    const shape& x = c.operand(0);
    scan_axis<O>(team, c.before_axis(x), x.d[c.axis()], c.after_axis(x), c.step.attr2 != 0, c.in(0),
                 O == detail::op::linear_scan ? c.in(1) : nullptr, c.template out<Y>());
  }
};
} // namespace tapeless::cpu
