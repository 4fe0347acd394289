// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// tanh, sinh, cosh and their inverses within 2 ulp, of all lanes; where a result is subnormal, too. NaN stays NaN; odd functions
// keep the sign of zero.
//   tanh: own for floats, xsimd's for doubles
//   sinh, cosh: |x| = n ln 2 + r, -ln(2) / 4 <= r < 3 ln(2) / 4; S = sinh r, C = cosh r - 1, q = 2^-2n;
//     sinh |x| = 2^(n-1) ((1 - q) (1 + C) + (1 + q) S),   cosh x = 2^(n-1) ((1 + q) (1 + C) + (1 - q) S)
//   asinh |x| = log(|x| + sqrt(x^2 + 1)),   acosh x = log(x + sqrt((x - 1)(x + 1))): log1p of a sum of two terms
//   atanh |x| = (1/2) log((1 + |x|) / (1 - |x|)) = k ln(2) / 2 + atanh s,
//     s = (2 |x| - (2^k - 1) d) / (2 + (2^k - 1) d), d = 1 - |x|; k = 0 gives s = |x|
// Coefficients: tools/minimax.py.
#pragma once
#include <bit>
#include <limits>
#include <numbers>
#include "../../../expr/op.hpp"
#include "../simd/vector.hpp"
#include "arithmetic.hpp"
#include "exponential.hpp"
#include "logarithm.hpp"
#include "piecewise.hpp"

namespace tapeless::cpu {

// Floats: x + x^3 p(x^2) (Cephes) up to 0.625, 1 - 2 / (e^2x + 1) beyond.
template <class V> [[gnu::always_inline]] inline V tanh(const V& x) {
  if constexpr (sizeof(typename V::value_type) == 8) return xsimd::tanh(x);
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64) return V(odd_by_pieces<tanh_pieces>(x.data));
#endif
  else {
    constexpr double p[] = {-0.333332819422, 0.133314422036, -0.0537397155531, 0.0206390887954,
                            -0.00570498872745};
    const V one(1.0f), a = xsimd::abs(x), b = select(a < V(10.0f), a, V(10.0f)), u = x * x;
    const V far = one - V(2.0f) / (exp_within<V>(b + b) + one);
    const V near = fma(a * u, polynomial(p, u), a);
    return xsimd::copysign(select(a > V(0.625f), far, near), x); // a NaN is not > 0.625; -0 stays -0
  }
}

// (1 -+ q) (1 + C) + (1 +- q) S and n - 1: the upper signs for sinh
template <bool Sinh, class V> [[gnu::always_inline]] inline V sinh_or_cosh(const V& x) {
  static constexpr double sf[] = {0.1666666767, 0.008333107446, 0.0001998504888};
  static constexpr double sd[] = {0.166666666666666664,   0.00833333333333351275, 0.000198412698408406689,
                                  2.75573196958672013e-6, 2.50518461305709018e-8, 1.61307131101918531e-10};
  static constexpr double cf[] = {0.5000000909, 0.04166463156, 0.001401838944};
  static constexpr double cd[] = {0.499999999999999963,     0.0416666666666693593,  0.00138888888882448318,
                                  0.0000248015880097144987, 2.75569256918823547e-7, 2.09842914420144578e-9};
  using T = typename V::value_type;
  const V a = at_most(xsimd::abs(x), of_floats<V> ? 90 : 711), one(T(1));
  const V n = nearest(fma(a, V(std::numbers::log2e_v<T>), V(T(-0.25))));
  const two_terms<V> r = minus_ln2(a, n);
  const V z = r.high * r.high, q = power_of_two(at_most(n, 30) * V(T(-2)));
  const V s = r.high + fma(r.high * z, polynomial(sf, sd, z), r.low);
  const V c = fma(z, polynomial(cf, cd, z), r.high * r.low);
  const V less = one - q, more = one + q, even = Sinh ? less : more, odd = Sinh ? more : less;
  return scale(even + fma(even, c, odd * s), n - one);
}
template <class V> [[gnu::always_inline]] inline V sinh(const V& x) {
  return with_sign(sinh_or_cosh<true>(x), x);
}
template <class V> [[gnu::always_inline]] inline V cosh(const V& x) { return sinh_or_cosh<false>(x); }

// sqrt(s.high + s.low) - root, root = sqrt(s.high)
template <class V> [[gnu::always_inline]] inline V square_root_rest(const two_terms<V>& s, const V& root) {
  using T = typename V::value_type;
  const V tiny(std::numeric_limits<T>::min());
  return (residual(-root, root, s.high) + s.low) * (V(T(0.5)) / select(root > tiny, root, tiny));
}
// log(1 + z), log(2 x) of a large x; x if it is infinite or NaN
template <class V> [[gnu::always_inline]] inline V log_of_sum(const two_terms<V>& z, const V& x) {
  using T = typename V::value_type;
  const V one(T(1)), zero(T(0));
  const auto far = x > V(static_cast<T>(of_floats<V> ? 0x1p14 : 0x1p28));
  const two_terms<V> sum = exact_sum(one, z.high);
  const V u = select(far, x, sum.high);
  const significand<V> s = significand_of<false>(u);
  const auto near = s.k == zero;
  const V f = select(near, z.high, s.m - one), c = select(near, z.low, select(far, zero, sum.low + z.low));
  const V y = log1p_of<V>({u, s.k + select(far, one, zero), f, c});
  return select(x < V(std::numeric_limits<T>::infinity()), y, x);
}
template <class V> [[gnu::always_inline]] inline V asinh(const V& x) {
  const V a = xsimd::abs(x), one(typename V::value_type(1));
  const two_terms<V> p = exact_product(a, a), q = exact_sum(one, p.high);
  const two_terms<V> s{q.high, q.low + p.low};
  const V root = xsimd::sqrt(s.high);
  const two_terms<V> z = exact_sum_ordered(a, root - one);
  return with_sign(log_of_sum<V>({z.high, z.low + square_root_rest(s, root)}, a), x);
}
template <class V> [[gnu::always_inline]] inline V acosh(const V& x) {
  using T = typename V::value_type;
  const V one(T(1)), t = x - one;
  const two_terms<V> more = exact_sum_ordered(x, one), p = exact_product(t, more.high);
  const two_terms<V> s{p.high, fma(t, more.low, p.low)};
  const V root = xsimd::sqrt(s.high);
  const two_terms<V> z = exact_sum_ordered(root, t);
  const V y = log_of_sum<V>({z.high, z.low + square_root_rest(s, root)}, x);
  return select(x < one, V(std::numeric_limits<T>::quiet_NaN()), y);
}

// k is the integer below log2 of (1 + |x|) / (1 - |x|) / 1.64, within 6 percent, but at least 0.
template <class V> [[gnu::always_inline]] inline V atanh(const V& x) {
  static constexpr double f[] = {0.3333331196, 0.2000280789, 0.1417169227, 0.1290661066};
  static constexpr double c[] = {0.333333333333334365,  0.199999999999436288,  0.142857142963160048,
                                 0.111111101349218262,  0.090909598295156098,  0.076907205547170584,
                                 0.0669706040715958916, 0.0553603331969652923, 0.0737525381450924107};
  using T = typename V::value_type;
  using format = format_of<V>;
  const V a = xsimd::abs(x), one(T(1)), two(T(2)), d = one - a, d_low = (one - d) - a;
  const V ratio = d * fma(a, V(T(-0.4715)), V(T(0.943)));
  constexpr bit_lane<V> from = std::bit_cast<bit_lane<V>>(static_cast<T>(0.61));
  constexpr T magic = static_cast<T>(bit_lane<V>(1) << format::digits);
  const bit_lanes<V> e = (to_bits(ratio) + (format::one - from)) >> format::digits;
  const V k = V(magic + format::bias) - from_bits<V>(e | std::bit_cast<bit_lane<V>>(magic));
  const V p = power_of_two(at_most(k, 70)) - one;
  const V s = (fma(-p, d, a + a) - p * d_low) / fma(p, d, two), z = s * s;
  const V half(T(0.5));
  const V y =
      fma(k, half * V(ln2_of<V>::high), s + fma(s * z, polynomial(f, c, z), k * (half * V(ln2_of<V>::low))));
  const V special =
      select(a == one, V(std::numeric_limits<T>::infinity()), V(std::numeric_limits<T>::quiet_NaN()));
  return with_sign(select(a < one, y, special), x);
}

// ---- by op
template <> struct function_for<detail::op::tanh> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::tanh(x); }
};
template <> struct function_for<detail::op::sinh> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::sinh(x); }
};
template <> struct function_for<detail::op::cosh> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::cosh(x); }
};
template <> struct function_for<detail::op::asinh> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::asinh(x); }
};
template <> struct function_for<detail::op::acosh> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::acosh(x); }
};
template <> struct function_for<detail::op::atanh> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::atanh(x); }
};

} // namespace tapeless::cpu
