// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// exp, log, tanh and sigmoid of all lanes: xsimd's, and what it lacks of them. exp, log and tanh are within 2 ulp of the
// exact value, sigmoid within 3, where that value is a normal number; a result below the smallest one may be 0. NaN
// stays NaN.
#pragma once
#include <limits>
#include <numbers>
#include "simd.hpp"

namespace tapeless::cpu {

// xsimd's is infinite from 88.377 (float) and 709.44 (double) on, e^x itself from 88.723 and 709.783. x - 1 is exact
// there.
template <class V> [[gnu::always_inline]] inline V exp(const V& x) {
  using T = typename V::value_type;
  V y = xsimd::exp(x);
  const auto high = x > V(sizeof(T) == 4 ? T(88) : T(709));
  if (xsimd::any(high)) y = select(high, xsimd::exp(x - V(T(1))) * V(std::numbers::e_v<T>), y);
  return y;
}
// xsimd's is wrong for subnormal doubles.
template <class V> [[gnu::always_inline]] inline V log(const V& x) {
  using T = typename V::value_type;
  V y = xsimd::log(x);
  if constexpr (sizeof(T) == 8) {
    const auto low = x < V(std::numeric_limits<T>::min());
    if (xsimd::any(low)) y = select(low, xsimd::log(x * V(T(0x1p54))) - V(54 * std::numbers::ln2_v<T>), y);
  }
  return y;
}
template <class V> [[gnu::always_inline]] inline V tanh(const V& x) { return xsimd::tanh(x); }

// 1 / (1 + e^-x), without an e^-x that overflows
template <class V> [[gnu::always_inline]] inline V sigmoid(const V& x) {
  using T = typename V::value_type;
  const V one(T(1)), e = exp<V>(-xsimd::abs(x));
  return select(x < V(T(0)), e, one) / (one + e);
}

} // namespace tapeless::cpu
