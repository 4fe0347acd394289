// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
#pragma once
// x = 2^k m with sqrt(1/2) <= m < sqrt(2), x > 0 and finite: subnormal numbers, too.
#include <bit>
#include <limits>
#include "../simd/vector.hpp"
#include "arithmetic.hpp"

namespace tapeless::cpu {

template <class V> struct significand {
  V k, m;
};
template <class V> [[gnu::always_inline]] inline significand<V> significand_of(const V& x) {
  using T = typename V::value_type;
  using B = bit_lane<V>;
  constexpr int digits = format_of<V>::digits;
  constexpr B one = format_of<V>::one, root = std::bit_cast<B>(static_cast<T>(0.7071067811865476));
  constexpr B magic = std::bit_cast<B>(static_cast<T>(B(1) << digits)); // its last bits are an integer
  const auto small = x < V(std::numeric_limits<T>::min());              // its exponent is that of x 2^digits
  const V y = select(small, x * V(static_cast<T>(B(1) << digits)), x);
  const bit_lanes<V> b = to_bits(y) + (one - root);
  const V bias = select(small, V(static_cast<T>((B(1) << digits) + (one >> digits) + digits)),
                        V(static_cast<T>((B(1) << digits) + (one >> digits))));
  return {from_bits<V>((b >> digits) | magic) - bias, from_bits<V>((b & ((B(1) << digits) - 1)) + root)};
}

} // namespace tapeless::cpu
