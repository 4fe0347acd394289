// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// sin, cos and tan within 2 ulp, of all lanes; where a result is subnormal, too, and for all arguments up to the largest number.
// sin(+-0) = tan(+-0) = +-0. NaN stays NaN, infinity gives NaN.
//   |x| = n pi / 2 + r + low (reduction.hpp); sin and cos of r + low, which n modulo 4 chooses; tan, or -1 / tan for an odd n
// Coefficients: tools/minimax.py.
#pragma once
#include "../../../expr/op.hpp"
#include "../simd/vector.hpp"
#include "arithmetic.hpp"
#include "reduction.hpp"

namespace tapeless::cpu {

template <class V> [[gnu::always_inline]] inline mask_of<V> is_odd(const bit_lanes<V>& n) {
  return from_bits<V>((n & 1) << format_of<V>::digits) > V(typename V::value_type(0));
}

// Is low, what r leaves, below half an ulp of r? It is not where three roundings make r.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
template <class V> inline constexpr bool low_is_small = true;
#else
template <class V> inline constexpr bool low_is_small = of_floats<V>;
#endif

// sin(r + low) = r + r^3 p(r^2) + low cos r
template <class V> [[gnu::always_inline]] inline V sin_of(const reduced<V>& x, const V& z) {
  static constexpr double f[] = {-0.1666665486, 0.008332172964, -0.0001951658114};
  static constexpr double d[] = {-0.166666666666666666,  0.0083333333333333227,   -0.000198412698412549876,
                                 2.75573192141469297e-6, -2.50521048998606719e-8, 1.60583650930844216e-10,
                                 -7.5786201359946315e-13};
  const V p = polynomial(f, d, z), cube = x.r * z;
  if constexpr (low_is_small<V>) return fma(cube, p, x.r);
  else return x.r + fma(cube, p, fma(x.low, V(-0.5) * z, x.low));
}
// cos(r + low) = 1 - r^2 / 2 + r^4 p(r^2) - low r
template <class V> [[gnu::always_inline]] inline V cos_of(const reduced<V>& x, const V& z) {
  static constexpr double f[] = {0.04166664675, -0.001388736151, 2.44377405e-5};
  static constexpr double d[] = {0.0416666666666665988,   -0.00138888888888739928, 0.0000248015872893961139,
                                 -2.75573143262330412e-7, 2.08757195629634417e-9,  -1.13594477059601937e-11};
  using T = typename V::value_type;
  const V p = polynomial(f, d, z), one(T(1)), half = V(T(0.5)) * z;
  if constexpr (low_is_small<V>) return fma(z * z, p, one - half);
  else {
    const V w = one - half;
    return w + fma(z * z, p, fma(-x.r, x.low, (one - w) - half));
  }
}
// sin(|x| + turn pi / 2)
template <int turn, class V> [[gnu::always_inline]] inline V sin_turned(const V& x) {
  const reduced<V> y = reduce<false>(xsimd::abs(x));
  const V z = y.r * y.r;
  const bit_lanes<V> n = y.n + turn;
  const V v = select(is_odd<V>(n), cos_of(y, z), sin_of(y, z));
  return from_bits<V>(to_bits(v) ^ ((n & 2) << (sizeof(bit_lane<V>) * 8 - 2)));
}
template <class V> [[gnu::always_inline]] inline V sin(const V& x) {
  return from_bits<V>(to_bits(sin_turned<0>(x)) ^ (to_bits(x) & format_of<V>::sign));
}
template <class V> [[gnu::always_inline]] inline V cos(const V& x) { return sin_turned<1>(x); }

// tan(r + low) = r + r^3 p(r^2) + low (1 + r^2): a sum t + t_low. -1 / (t + t_low): q = -1 / t, then a step of Newton.
template <class V> [[gnu::always_inline]] inline V tan(const V& x) {
  static constexpr double f[] = {0.3333335177,  0.1333259861,    0.05406683534, 0.02124821726,
                                 0.01092008887, -1.326446976e-5, 0.004425284485};
  static constexpr double d[] = {
      0.333333333333333855,     0.133333333333247636,      0.0539682539731949809,    0.0218694883918918098,
      0.00886323803421978568,   0.00359209979217157726,    0.00145605277708835542,   0.000588830753138991427,
      0.000243864643086445065,  0.0000832844222033627822,  0.0000676952754122513597, -0.000026201812344547376,
      0.0000490864673668209212, -0.0000244862240963629682, 9.84403919955907244e-6};
  using T = typename V::value_type;
  const reduced<V> y = reduce<true>(xsimd::abs(x));
  const V z = y.r * y.r, cube = y.r * z, p = polynomial(f, d, z), one(T(1));
  const V rest = fma(cube, p, fma(y.low, z, y.low));
  const two_terms<V> t = exact_sum_ordered(y.r, rest);
  const V q = V(T(-1)) / t.high, inverse = fma(q, fma(q, t.low, residual(q, t.high, one)), q);
  const V v = select(is_odd<V>(y.n), inverse, t.high);
  return from_bits<V>(to_bits(v) ^ (to_bits(x) & format_of<V>::sign));
}

// ---- by op
template <> struct function_for<detail::op::sin> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::sin(x); }
};
template <> struct function_for<detail::op::cos> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::cos(x); }
};
template <> struct function_for<detail::op::tan> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::tan(x); }
};

} // namespace tapeless::cpu
