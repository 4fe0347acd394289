// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// erf, erfc and softplus within 2 ulp, sigmoid within 3, erfinv within 4, of all lanes. Of erf and sigmoid that holds where
// the result is a normal number: below, it may be 0. NaN stays NaN.
//   softplus x = log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
#pragma once
#include <limits>
#include "../../../expr/op.hpp"
#include "../simd/vector.hpp"
#include "arithmetic.hpp"
#include "exponential.hpp"
#include "logarithm.hpp"
#include "piecewise.hpp"

namespace tapeless::cpu {

// erf(x) = x + x p(x^2) for |x| <= 1, 1 - e^(-x^2) q(1 / (x + 2)) from 1 to `one`, 1 in this type beyond.
// The polynomials interpolate at Chebyshev's nodes. Their errors, the second times e^(-x^2), are at most 7e-18 and
// 9e-18, for float 2e-9 and 3e-9.
template <class T> struct erf_terms {
  static constexpr double p[] = {
      0.12837916709551257,    -0.376126389031835404,    0.112837916709450063,    -0.0268661706432377704,
      0.00522397760711642273, -0.000854832597538969208, 0.000120552949048397079, -0.0000149247369074196603,
      1.64474247033173624e-6, -1.62084838018717059e-7,  1.37200645467776856e-8,  -7.79589882700214224e-10};
  static constexpr double q[] = {1.62422847400775906e-7, 0.564177145864045804, 1.1288205669506492,
                                 1.96503806533135245,    2.96506260761379159,  1.11292725402788601,
                                 12.4692696956959696,    -86.0235241240356991, 356.025434810281283,
                                 -1304.87271176333936,   3393.71928976118965,  -5751.74578192639801,
                                 6141.24497387216399,    -3802.31933994000574, 1051.47759935451243};
  static constexpr T one = 6;
};
template <> struct erf_terms<float> {
  static constexpr double p[] = {0.12837916584835095,     -0.37612626666720331,   0.112835947151602177,
                                 -0.0268542120106264124,  0.00518908742343397399, -0.000801686428716586953,
                                 0.0000787587506268548834};
  static constexpr double q[] = {0.000605118390967380105, 0.547268680168792083, 1.32302853481143873,
                                 0.811963299543454345,    6.45592085346125195,  -1.82608639884467592,
                                 -3.43234739692467592};
  static constexpr float one = 4;
};

// xsimd's is 68 ulp off for double.
template <class V> [[gnu::always_inline]] inline V erf(const V& x) {
  using T = typename V::value_type;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4 && sizeof(V) == 64) return V(odd_by_pieces<erf_pieces>(x.data));
  else
#endif
  {
    using terms = erf_terms<T>;
    const V one(T(1)), a = xsimd::abs(x), b = select(a < V(terms::one), a, V(terms::one));
    V power = -(b * b);
    if constexpr (of_floats<V>) power = exp_within(power);
    else power = cpu::exp(power);
    const V tail = polynomial(terms::q, one / (b + V(T(2)))) * power;
    const V far = select(x < V(T(0)), tail - one, one - tail);
    return select(a > one, far, fma(x, polynomial(terms::p, x * x), x)); // a NaN is not > 1
  }
}

// erfc(x) = (1 - x) - x p(x^2) for |x| <= 3/4, p that of erf; beyond, for a = |x|: e^(-a^2) (9/8 + q(t)) / (1 + 2a), t = (a - 3)
// / (a + 3) (Shepherd and Laframboise, Math. Comp. 36, 1981), and 2 minus that for x < 0. The factors have two
// terms. Coefficients of q: tools/minimax.py.
template <class V> [[gnu::always_inline]] inline V erfc(const V& x) {
  static constexpr double f[] = {0.1280080562,   -0.1356211009,   -0.04756203996, 0.1296448925,
                                 -0.1192787023,  0.06831253375,   -0.02373536782, 0.00249671079,
                                 0.001787368112, -0.0006757290279};
  static constexpr double d[] = {
      0.128008058269729653,   -0.135621106124581203,     -0.0475622943534512665,   0.129645158702764484,
      -0.119273663415267393,  0.0683080273438212684,     -0.0237705149198691385,   0.00252939181930007493,
      0.00188869037667436056, -0.000779832312216278137,  -0.000105159936246440916, 0.000125099673163393794,
      4.95008965207816376e-6, -0.0000201022502975099027, -7.32907061657278746e-7,  3.47812154386610973e-6,
      3.57486755292588358e-7, -6.2860397648482019e-7,    -1.36924122119419868e-7,  1.15669786892222007e-7,
      3.07424501322841347e-8, -1.94555732942729526e-8};
  using T = typename V::value_type;
  const V one(T(1)), middle(T(3)), a = at_most(xsimd::abs(x), of_floats<V> ? 11 : 28);
  const two_terms<V> q = exact_sum_ordered(V(T(1.125)), polynomial(f, d, (a - middle) / (a + middle)));
  const two_terms<V> b = exact_sum(one, a + a), square = exact_product(a, a);
  const V per_b = one / b.high, r = q.high * per_b, // r + r_low = (9/8 + q) / (1 + 2a)
      r_low = (residual(-r, b.high, q.high) + (q.low - r * b.low)) * per_b;
  const exp_parts<V> e = exp_parts_of(-square.high);
  const V power = one + e.m;
  const V far = scale(r + fma(r, e.m - square.low * power, r_low * power), e.n);
  const two_terms<V> line = exact_sum_ordered(one, -x);
  const V near = line.high + (line.low - x * polynomial(erf_terms<T>::p, x * x));
  return select(a > V(T(0.75)), select(x < V(T(0)), V(T(2)) - far, far), near); // a NaN is not > 3/4
}

// The inverse of erf: +-inf at +-1, NaN beyond.
//   Floats: x p(w), w = -log(1 - x^2), by Giles ("Approximating the erfinv function", GPU Computing Gems 2, 2012).
//   Doubles: the rational functions of Wichura for the quantile of a normal distribution (algorithm AS 241, Applied
//   Statistics 37, 1988), over sqrt(2), of x^2 and of r = sqrt(-log((1 - |x|) / 2)). Each is a line, which is computed with
//   little error, and what is left: p / q times x^2, or p / q. The largest term then is rounded once or twice.
template <class V> [[gnu::always_inline]] inline V erfinv(const V& x) {
  using T = typename V::value_type;
  const V one(T(1)), a = xsimd::abs(x);
  V y;
  if constexpr (of_floats<V>) {
    static constexpr double near[] = {1.50140941,     0.246640727,   -0.00417768164,
                                      -0.00125372503, 0.00021858087, -4.39150654e-6,
                                      -3.5233877e-6,  3.43273939e-7, 2.81022636e-8};
    static constexpr double tail[] = {2.83297682,    1.00167406,     0.00943887047,
                                      -0.0076224613, 0.00573950773,  -0.00367342844,
                                      0.00134934322, 0.000100950558, -0.000200214257};
    const V w = -cpu::log((one - a) * (one + a));
    y = x * select(w < V(5.0f), polynomial(near, w - V(2.5f)), polynomial(tail, xsimd::sqrt(w) - V(3.0f)));
  } else {
    static constexpr double p[] = {0.4308725067326411, 15.635937945977815, 208.44676576752849,
                                   1257.0134215885751, 3409.9384089128685, 3579.3486184530311,
                                   936.19169306141646};
    static constexpr double q[] = {1,
                                   4.2313330701600911252e1,
                                   6.8718700749205790830e2,
                                   5.3941960214247511077e3,
                                   2.1213794301586595867e4,
                                   3.9307895800092710610e4,
                                   2.8729085735721942674e4,
                                   5.2264952788528545610e3};
    static constexpr double p_tail[] = {
        -5.0845123454072426e-17, 0.12162317878050498,    0.16269455890088244,
        0.06470311492972565,     0.00023551464951845769, -0.0051646643462159043,
        -0.00098778231860279669, -4.6967677090115677e-5, -1.1410489059263588e-9};
    static constexpr double q_tail[] = {1,
                                        2.05319162663775882187e0,
                                        1.67638483018380384940e0,
                                        6.89767334985100004550e-1,
                                        1.48103976427480074590e-1,
                                        1.51986665636164571966e-2,
                                        5.47593808499534494600e-4,
                                        1.05075007164441684324e-9};
    static constexpr double p_end[] = {
        -3.8353147843589972e-16, 0.00049709476670609326,  -0.0058454769449489009,
        -0.0026096755651988752,  -0.00039980042017779627, -2.5834112051068836e-5,
        -6.800343108296386e-7,   -5.5518571424351353e-9,  -2.1241171308661093e-15};
    static constexpr double q_end[] = {1,
                                       5.99832206555887937690e-1,
                                       1.36929880922735805310e-1,
                                       1.48753612908506148525e-2,
                                       7.86869131145613259100e-4,
                                       1.84631831751005468180e-5,
                                       1.42151175831644588870e-7,
                                       2.04426310338993978564e-15};
    const V square = x * x, u = fma(square, V(-0.25), V(0.180625));
    const V bend = fma(square, polynomial(p, u) / polynomial(q, u), V(2.7512856573993956e-17));
    y = fma(x, V(0.88622692545275805), x * bend);
    if (const auto far = a > V(0.85); xsimd::any(far)) {
      const V r = xsimd::sqrt(-cpu::log(V(0.5) * (one - a)));
      const auto end = r > V(5.0);
      const V s = r - select(end, V(5.0), V(1.6));
      const V rest = select(end, polynomial(p_end, s) / polynomial(q_end, s),
                            polynomial(p_tail, s) / polynomial(q_tail, s));
      const V at_0 = select(end, V(4.707849521913034), V(1.006522033603688));
      y = select(far, with_sign(fma(s, select(end, V(1.0390625), V(1.0859375)), at_0 + rest), x), y);
    }
  }
  return select(a == one, with_sign(V(std::numeric_limits<T>::infinity()), x),
                select(a < one, y, V(std::numeric_limits<T>::quiet_NaN())));
}

// 1 / (1 + e^-x), without an e^-x that overflows
template <class V> [[gnu::always_inline]] inline V sigmoid(const V& x) {
  using T = typename V::value_type;
  const V one(T(1)), e = exp<V>(-xsimd::abs(x));
  return select(x < V(T(0)), e, one) / (one + e);
}

template <class V> [[gnu::always_inline]] inline V softplus(const V& x) {
  using T = typename V::value_type;
  const V zero(T(0)), one(T(1));
  const exp_parts<V> e = exp_parts_of(at_least(-xsimd::abs(x), of_floats<V> ? -110 : -760));
  return select(x > zero, x, zero) + log1p_of(log1p_parts_of<V>({scale(one + e.m, e.n), zero}));
}

// ---- by op
template <> struct function_for<detail::op::erf> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::erf(x); }
};
template <> struct function_for<detail::op::erfc> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::erfc(x); }
};
template <> struct function_for<detail::op::erfinv> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::erfinv(x); }
};
template <> struct function_for<detail::op::sigmoid> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::sigmoid(x); }
};
template <> struct function_for<detail::op::softplus> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::softplus(x); }
};

} // namespace tapeless::cpu
