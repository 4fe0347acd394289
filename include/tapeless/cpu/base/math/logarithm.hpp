// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// log(x), log2(x), log10(x) and log(1 + x) within 1.5 ulp, of all lanes; subnormal numbers, too. -inf at 0 (of log1p: at -1),
// NaN below; log1p(+-0) = +-0.
//   x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); log x = k ln 2 + log(1 + f), ln 2 in two terms;
//   log(1 + f) = f - f^2 / 2 + rest: float f^3 p(f) (Cephes); double s (f^2 / 2 + z p(z)), s = f / (2 + f), z = s^2, for
//     log(1 + f) = 2 atanh s (fdlibm)
//   log2, log10: f - f^2 / 2 + rest in two terms times 1 / ln 2, 1 / ln 10 in two terms; the products of the first ones are exact
//   log1p: 1 + x = u + c, c the rounding error of u; log(1 + x) = log u + c / u. Where k = 0, f is x itself.
#pragma once
#include <limits>
#include "../../../expr/op.hpp"
#include "../simd/vector.hpp"
#include "arithmetic.hpp"

namespace tapeless::cpu {

// log(1 + f) - (f - half), half = f^2 / 2
template <class V> [[gnu::always_inline]] inline V log_rest(const V& f, const V& half) {
  if constexpr (of_floats<V>) {
    static constexpr double p[] = {3.3333331174e-1,  -2.4999993993e-1, 2.0000714765e-1,
                                   -1.6668057665e-1, 1.4249322787e-1,  -1.2420140846e-1,
                                   1.1676998740e-1,  -1.1514610310e-1, 7.0376836292e-2};
    return polynomial(p, f) * (f * f * f);
  } else {
    static constexpr double p[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                                   2.857142874366239149e-01, 2.222219843214978396e-01,
                                   1.818357216161805012e-01, 1.531383769920937332e-01,
                                   1.479819860511658591e-01};
    const V s = f / (V(2.0) + f), z = s * s;
    return s * fma(polynomial(p, z), z, half);
  }
}

// y for x > 0; -inf at 0, NaN below, x if x is infinite or NaN
template <class V> [[gnu::always_inline]] inline V log_or_special(const V& x, const V& y) {
#if defined(__AVX512F__)
  // What y becomes, four bits each, the last ones first: x NaN, NaN, 0, 1, -inf, inf, < 0, > 0. 0: it stays, 2: x as a quiet NaN,
  // 3: NaN, 4: -inf, 5: inf
  if constexpr (sizeof(V) == 64 && of_floats<V>)
    return _mm512_fixupimm_ps(y.data, x.data, _mm512_set1_epi32(0x03530422), 0);
  else if constexpr (sizeof(V) == 64)
    return _mm512_fixupimm_pd(y.data, x.data, _mm512_set1_epi64(0x03530422), 0);
#endif
  using limits = std::numeric_limits<typename V::value_type>;
  const V zero(typename V::value_type(0)), inf(limits::infinity());
  if (xsimd::all((x > zero) & (x < inf))) return y;
  const V special = select(x == zero, -inf, V(limits::quiet_NaN()));
  return select(x > zero, select(x < inf, y, x), special);
}

template <class V> [[gnu::always_inline]] inline V log(const V& x) {
  using T = typename V::value_type;
  const significand<V> s = significand_of<true>(x);
  const V f = s.m - V(T(1)), half = V(T(0.5)) * f * f, high(ln2_of<V>::high), low(ln2_of<V>::low);
  if constexpr (of_floats<V>)
    return log_or_special(x, fma(s.k, high, f + (log_rest(f, half) + fma(s.k, low, -half))));
  else return log_or_special(x, fma(s.k, high, f - (half - fma(s.k, low, log_rest(f, half)))));
}

// log(u + c) = k ln 2 + log(1 + f) + c / u, u = 2^k (1 + f), c small beside u
template <class V> struct log1p_parts {
  V u, k, f, c;
};
template <class V> [[gnu::always_inline]] inline V log1p_of(const log1p_parts<V>& p) {
  using T = typename V::value_type;
  const V half = V(T(0.5)) * p.f * p.f;
  const V low = fma(p.k, V(ln2_of<V>::low), p.c / p.u) + log_rest(p.f, half);
  return fma(p.k, V(ln2_of<V>::high), p.f - (half - low));
}
// Of 1 + z, z > -1. A z that is infinite or NaN gives anything.
template <class V> [[gnu::always_inline]] inline log1p_parts<V> log1p_parts_of(const two_terms<V>& z) {
  using T = typename V::value_type;
  const V one(T(1)), zero(T(0));
  const two_terms<V> u = exact_sum(one, z.high);
  const significand<V> s = significand_of<false>(u.high);
  const auto near = s.k == zero;
  return {u.high, s.k, select(near, z.high, s.m - one), select(near, z.low, u.low + z.low)};
}
template <class V> [[gnu::always_inline]] inline V log1p(const V& x) {
  using T = typename V::value_type;
  const V y = log1p_of(log1p_parts_of<V>({x, V(T(0))}));
  return with_sign(log_or_special(x + V(T(1)), y), x);
}

// log x = (1 / ln base) (high + low) + k log 2 / log base, each constant in two terms
struct base_2 {
  static constexpr double scale[4] = {0x1.71547652p+0, 0x1.705fc2eefa2p-33, 0x1.714p+0,
                                      0x1.47652b82fe177p-12};
  static constexpr double of_2[4] = {1, 0, 1, 0};
};
struct base_10 {
  static constexpr double scale[4] = {0x1.bcb7b152p-2, 0x1.b9438ca9aadd5p-36, 0x1.bcap-2,
                                      0x1.7b1526e50e32ap-14};
  static constexpr double of_2[4] = {0x1.34413509f78p-2, 0x1.fef311f12b358p-46, 0x1.344p-2,
                                     0x1.3509f79fef312p-18};
};
template <class Base, class V> [[gnu::always_inline]] inline V log_to(const V& x) {
  using T = typename V::value_type;
  const auto constant = [](const double(&c)[4], int i) __attribute__((always_inline)) {
    return V(static_cast<T>(c[i + (of_floats<V> ? 2 : 0)]));
  };
  constexpr bit_lane<V> upper =
      static_cast<bit_lane<V>>(of_floats<V> ? ~bit_lane<V>(0xfff) : ~bit_lane<V>(0xffffffff));
  const significand<V> s = significand_of<true>(x);
  const V f = s.m - V(T(1)), half = V(T(0.5)) * f * f;
  const V high = from_bits<V>(to_bits(f - half) & upper), low = ((f - high) - half) + log_rest(f, half);
  const two_terms<V> sum = exact_sum_ordered(s.k * constant(Base::of_2, 0), high * constant(Base::scale, 0));
  const V rest = fma(low + high, constant(Base::scale, 1),
                     fma(low, constant(Base::scale, 0), s.k * constant(Base::of_2, 1)));
  return log_or_special(x, sum.high + (sum.low + rest));
}
template <class V> [[gnu::always_inline]] inline V log2(const V& x) { return log_to<base_2>(x); }
template <class V> [[gnu::always_inline]] inline V log10(const V& x) { return log_to<base_10>(x); }

// ---- by op
template <> struct function_for<detail::op::log> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::log(x); }
};
template <> struct function_for<detail::op::log1p> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::log1p(x); }
};
template <> struct function_for<detail::op::log2> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::log2(x); }
};
template <> struct function_for<detail::op::log10> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::log10(x); }
};

} // namespace tapeless::cpu
