// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// One number from the lanes of a vector: sum, maximum, minimum.
#include <cstring>
#include <utility>

#include "vector.hpp"

namespace tapeless::cpu {

// Combines the lower and the upper half of the lanes with op, until one value is left.
template <class Lanes, class F, int... I>
[[gnu::always_inline]] inline auto halve(const Lanes& v, F op, std::integer_sequence<int, I...>) {
  constexpr int half = sizeof...(I);
  if constexpr (half == 1) return op(v[0], v[1]);
  else {
    const auto r = op(__builtin_shufflevector(v, v, I...), __builtin_shufflevector(v, v, (half + I)...));
    return halve(r, op, std::make_integer_sequence<int, half / 2>{});
  }
}
template <class T, class F> [[gnu::always_inline]] inline T halve(const simd<T>& v, F op) {
  typename vector_of<T, width<T>>::type lanes;
  std::memcpy(&lanes, &v.data, sizeof lanes);
  return halve(lanes, op, std::make_integer_sequence<int, width<T> / 2>{});
}

/// Sum of the lanes, in a fixed order for a given width.
template <class T> [[gnu::always_inline]] inline T hsum(const simd<T>& v) {
  return halve<T>(v, [](const auto& a, const auto& b) { return a + b; });
}

// add_neighbours adds neighbouring groups of U lanes within each Q lanes of a, then of b; both have W lanes.
// neighbour() is the lane that the first (second == 0) or the second group of a pair gives to lane i of the result.
template <int U, int Q, int W> constexpr int neighbour(int i, int second) {
  constexpr int half = Q / U / 2;
  const int group = i % Q / U;
  return (group < half ? 0 : W) + i / Q * Q + (2 * (group % half) + second) * U + i % U;
}
template <int U, int Q, class V, int... I>
[[gnu::always_inline]] inline V add_neighbours(const V& a, const V& b, std::integer_sequence<int, I...>) {
  return V(__builtin_shufflevector(a.data, b.data, neighbour<U, Q, sizeof...(I)>(I, 0)...)) +
         V(__builtin_shufflevector(a.data, b.data, neighbour<U, Q, sizeof...(I)>(I, 1)...));
}
// A round leaves N vectors; the first leaves W / 2. The first rounds add within 16 bytes, where shuffles are cheap,
// the later ones across the whole vector.
template <int N, class V> [[gnu::always_inline]] inline void add_rounds(V (&v)[V::size]) {
  constexpr int W = static_cast<int>(V::size), L = 16 / static_cast<int>(sizeof(typename V::value_type));
  constexpr bool within = W / N <= L;
  unroll<N>([&](auto i) __attribute__((always_inline)) {
    v[i] = add_neighbours<within ? 1 : L, within ? L : W>(v[2 * i], v[2 * i + 1],
                                                          std::make_integer_sequence<int, W>{});
  });
  if constexpr (N > 1) add_rounds<N / 2>(v);
}

/// Lane i of the result is the sum of the lanes of v[i], i in [0, W). v is overwritten.
template <class V> [[gnu::always_inline]] inline V hsum_each(V (&v)[V::size]) {
  add_rounds<static_cast<int>(V::size) / 2>(v);
  return v[0];
}

/// Largest and smallest lane; which lane wins is unspecified where one is a NaN.
template <class T> [[gnu::always_inline]] inline T hmax(const simd<T>& v) {
  return halve<T>(v, [](const auto& a, const auto& b) { return a < b ? b : a; });
}
template <class T> [[gnu::always_inline]] inline T hmin(const simd<T>& v) {
  return halve<T>(v, [](const auto& a, const auto& b) { return b < a ? b : a; });
}

} // namespace tapeless::cpu
