// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// 1 / sqrt(x) and hypot(x, y) within 1.5 ulp, cbrt(x) within 1 ulp.
//   rsqrt(+-0) = +-inf; NaN for x < 0
//   cbrt: x = 2^3j m, 2^-1.5 <= m < 2^1.5. A polynomial gives r near m^(-1/3). Its error e = 1 - m r^3 corrects it:
//   r (1 - e)^(-1/3) = r (1 + e / 3 + 2 e^2 / 9 + ...). Last, y = m r^2 gets a step of Newton. Its residual m - y^3 is exact.
//   hypot(x, y) = sqrt(x^2 + y^2). Where a square might overflow or be subnormal, both are first multiplied by a power of
//   two. It is infinite where x or y is, also beside a NaN.
// Coefficients: tools/minimax.py.
#pragma once
#include <limits>
#include "../../../expr/op.hpp"
#include "../simd/vector.hpp"
#include "arithmetic.hpp"

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

template <class V> [[gnu::always_inline]] inline V hypot(const V& x, const V& y) {
  using T = typename V::value_type;
  const V a = xsimd::abs(x), b = xsimd::abs(y), more = select(a < b, b, a), one(T(1));
  const V up(static_cast<T>(of_floats<V> ? 0x1p100 : 0x1p600)),
      down(static_cast<T>(of_floats<V> ? 0x1p-100 : 0x1p-600));
  const auto large = more > V(static_cast<T>(of_floats<V> ? 0x1p62 : 0x1p500)),
             small = more < V(static_cast<T>(of_floats<V> ? 0x1p-50 : 0x1p-450));
  const V scale = select(large, down, select(small, up, one)),
          back = select(large, up, select(small, down, one));
  const V u = a * scale, v = b * scale, inf(std::numeric_limits<T>::infinity());
  const V root = xsimd::sqrt(fma(u, u, v * v)) * back;
  return select((a == inf) | (b == inf), inf, root);
}

// ---- by op
template <> struct function_for<detail::op::rsqrt> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::rsqrt(x); }
};
template <> struct function_for<detail::op::cbrt> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::cbrt(x); }
};
template <> struct function_for<detail::op::hypot> {
  template <class V> [[gnu::always_inline]] static V of(const V& x, const V& y) { return cpu::hypot(x, y); }
};

} // namespace tapeless::cpu
