// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// asin, acos, atan and atan2 within 2 ulp, of all lanes; where a result is subnormal, too. NaN stays NaN, odd functions keep the
// sign of zero; asin and acos are NaN beyond 1. atan2 has the special values of C (Annex F).
//   asin x = x + x^3 p(x^2) for |x| <= 1/2; beyond, asin |x| = pi / 2 - 2 asin(sqrt((1 - |x|) / 2))
//   atan x = x + x^3 p(x^2) for |x| <= 1; beyond, atan |x| = pi / 2 - atan(1 / |x|)
// pi / 2 and pi are sums of two terms. Coefficients: tools/minimax.py.
#pragma once
#include "../../../expr/op.hpp"
#include "../simd/vector.hpp"
#include "arithmetic.hpp"

namespace tapeless::cpu {

// right_angles pi / 2 - times (y.high + y.low), each factor 1 or 2
template <int right_angles, int times, class V> [[gnu::always_inline]] inline V below_angle(
    const two_terms<V>& y) {
  using T = typename V::value_type;
  constexpr T high = static_cast<T>(of_floats<V> ? 0x1.921fb6p+0 : 0x1.921fb54442d18p+0) * right_angles;
  constexpr T low = static_cast<T>(of_floats<V> ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54) * right_angles;
  const V minus(T(-times)), d = fma(minus, y.high, V(high)), d_low = fma(minus, y.high, V(high) - d);
  return d + (fma(minus, y.low, V(low)) + d_low);
}

// asin x = x + x^3 p(z), z = x^2 <= 1/4
template <class V> [[gnu::always_inline]] inline two_terms<V> asin_of(const V& x, const V& z) {
  static constexpr double f[] = {0.1666665986,  0.0750051178,  0.04451556993,
                                 0.03181875309, 0.01439864004, 0.03757037155};
  static constexpr double d[] = {0.166666666666667623,   0.0749999999997028207, 0.0446428571751059816,
                                 0.0303819426842175087,  0.0223722156452931063, 0.0173516003364344961,
                                 0.0139809587761248169,  0.0113977959016868342, 0.0107864282591009219,
                                 0.00368338232860963637, 0.0217627678795035182, -0.0210763916185918006,
                                 0.0326764082794095981};
  return {x, x * z * polynomial(f, d, z)};
}
template <class V> [[gnu::always_inline]] inline V asin(const V& x) {
  using T = typename V::value_type;
  const V a = xsimd::abs(x), half(T(0.5));
  const auto far = a > half;
  const V z = select(far, fma(-half, a, half), a * a);
  const two_terms<V> y = asin_of(select(far, xsimd::sqrt(z), a), z);
  return with_sign(select(far, below_angle<1, 2>(y), y.high + y.low), x);
}
template <class V> [[gnu::always_inline]] inline V acos(const V& x) {
  using T = typename V::value_type;
  const V a = xsimd::abs(x), half(T(0.5)), two(T(2));
  const auto far = a > half;
  const V z = select(far, fma(-half, a, half), a * a);
  const two_terms<V> y = asin_of(select(far, xsimd::sqrt(z), x), z);
  return select(far, select(x > V(T(0)), fma(y.high, two, y.low + y.low), below_angle<2, 2>(y)),
                below_angle<1, 1>(y));
}

// atan x = x + x^3 p(x^2), 0 <= x <= 1
template <class V> [[gnu::always_inline]] inline two_terms<V> atan_of(const V& x) {
  static constexpr double f[] = {-0.333333019,  0.1999863934,   -0.1426524927, 0.1095758052,  -0.08419434151,
                                 0.05823360984, -0.03145435908, 0.01106354769, -0.00182698267};
  static constexpr double d[] = {-0.333333333333332902,    0.199999999999912512,    -0.142857142850870553,
                                 0.111111110880657681,     -0.0909090857858524886,  0.0769230011344474765,
                                 -0.0666658734258609091,   0.0588174002911553034,   -0.0525955234143443434,
                                 0.0474537816284989529,    -0.0428773247804575379,  0.0382413106496003134,
                                 -0.032842757728336381,    0.0262344513607755932,   -0.0187077323650634134,
                                 0.0113993367654365571,    -0.00566639526857005,    0.00217770758709042261,
                                 -0.000601605293783240362, 0.000105662373761630644, -8.82502741631453653e-6};
  const V z = x * x;
  return {x, x * z * polynomial(f, d, z)};
}
template <class V> [[gnu::always_inline]] inline V atan(const V& x) {
  const V a = xsimd::abs(x), one(typename V::value_type(1));
  const auto far = a > one;
  const two_terms<V> y = atan_of(select(far, one / a, a));
  return with_sign(select(far, below_angle<1, 1>(y), y.high + y.low), x);
}
/// The angle of the point (x, y), -pi to pi.
template <class V> [[gnu::always_inline]] inline V atan2(const V& y, const V& x) {
  using T = typename V::value_type;
  const V a = xsimd::abs(x), b = xsimd::abs(y), zero(T(0)), one(T(1));
  const auto steep = b > a;
  const V less = select(steep, a, b), more = select(steep, b, a);
  // 0 / 0 is 0, inf / inf is 1
  const two_terms<V> angle = atan_of(select(less == more, select(less == zero, zero, one), less / more));
  const V first = select(steep, below_angle<1, 1>(angle), angle.high + angle.low);
  const auto left = with_sign(one, x) < zero;
  return with_sign(select(left, below_angle<2, 1>(two_terms<V>{first, zero}), first), y);
}

// ---- by op
template <> struct function_for<detail::op::asin> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::asin(x); }
};
template <> struct function_for<detail::op::acos> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::acos(x); }
};
template <> struct function_for<detail::op::atan> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::atan(x); }
};
template <> struct function_for<detail::op::atan2> {
  template <class V> [[gnu::always_inline]] static V of(const V& y, const V& x) { return cpu::atan2(y, x); }
};

} // namespace tapeless::cpu
