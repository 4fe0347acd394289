// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// 1 / sqrt(x) within 1.5 ulp, cbrt(x) within 1 ulp. rsqrt(+-0) = +-inf, rsqrt(x) is NaN for x < 0; cbrt(-x) = -cbrt(x).
//   cbrt: x = 2^3j m, 2^-1.5 <= m < 2^1.5; r = m^(-1/3) is a polynomial, then made exact with the error e = 1 - m r^3:
//   r (1 - e)^(-1/3) = r (1 + e / 3 + 2 e^2 / 9 + ...). Last, y = m r^2 gets a step of Newton, whose residual m - y^3 is exact.
// Coefficients: tools/minimax.py.
#pragma once
#include <limits>
#include "../../../expr/op.hpp"
#include "../simd/vector.hpp"
#include "arithmetic.hpp"
#include "significand.hpp"

namespace tapeless::cpu {

template <class V> [[gnu::always_inline]] inline V rsqrt(const V& x) {
  return V(typename V::value_type(1)) / xsimd::sqrt(x);
}

template <class V> [[gnu::always_inline]] inline V cbrt(const V& x) {
  using T = typename V::value_type;
  static constexpr double p[] = {1.89178736, -1.76312555, 1.22726938, -0.415418987, 0.0529507739};
  const V a = xsimd::abs(x), one(T(1)), third(static_cast<T>(1.0 / 3));
  const significand<V> s = significand_of<true>(a);
  const V j = nearest(s.k * third), m = s.m * power_of_two(fma(j, V(T(-3)), s.k));
  V r = polynomial(p, m);
  const V e = one - m * r * r * r;
  r = fma(r * e, fma(e, V(static_cast<T>(2.0 / 9)), third), r);
  if constexpr (!of_floats<V>) r = fma(r * third, one - m * r * r * r, r);
  const V r2 = r * r, y = m * r2;
  const two_terms<V> y2 = exact_product(y, y);
  const V rest = residual(-y2.high, y, m) - y2.low * y;
  const V root = fma(rest, r2 * third, y) * power_of_two(j);
  const V inf(std::numeric_limits<T>::infinity());
  return select((a > V(T(0))) & (a < inf), with_sign(root, x), x);
}

// ---- by op
template <> struct function_for<detail::op::rsqrt> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::rsqrt(x); }
};
template <> struct function_for<detail::op::cbrt> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::cbrt(x); }
};

} // namespace tapeless::cpu
