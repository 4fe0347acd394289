// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// exp, log, tanh, erf and sigmoid of all lanes. exp and tanh of doubles are xsimd's, the others our own. exp, log,
// tanh and erf are within 2 ulp of the exact value, sigmoid within 3, where that value is a normal number. A result
// below the smallest normal number may be 0. NaN stays NaN.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <numbers>
#include "piecewise.hpp"
#include "simd.hpp"

namespace tapeless::cpu {

// c[0] + c[1] u + c[2] u^2 + ...
template <class V, int N> [[gnu::always_inline]] inline V polynomial(const double (&c)[N], const V& u) {
  using T = typename V::value_type;
  V y(static_cast<T>(c[N - 1]));
  unroll<N - 1>([&](auto k)
                    __attribute__((always_inline)) { y = fma(y, u, V(static_cast<T>(c[N - 2 - k]))); });
  return y;
}

// e^x of floats, -87.3366 < x < 88.7229: 2^n e^r, n the integer nearest to x / ln 2. The sum with 1.5 2^23 has n in
// its last bits. They are added to the exponent of e^r = 1 + r + r^2 p(r), |r| < 0.347 (the polynomial of Cephes).
template <class V> [[gnu::always_inline]] inline V exp_within(const V& x) {
  using bits = typename vector_of<std::uint32_t, static_cast<int>(V::size)>::type;
  constexpr double p[] = {0.5000000120, 0.1666666546, 0.0416657959, 0.0083334519, 0.0013981999, 0.0001987569};
  const V shift(0x1.8p23f), t = fma(x, V(std::numbers::log2e_v<float>), shift), n = t - shift;
  const V r = fma(n, V(2.12194440e-4f), fma(n, V(-0.693359375f), x)); // ln 2 in two terms
  const V y = fma(polynomial(p, r), r * r, r) + V(1.0f);
  return V(std::bit_cast<typename V::register_type>(std::bit_cast<bits>(y.data) +
                                                    (std::bit_cast<bits>(t.data) << 23)));
}

#if defined(__AVX512F__)
// e^x of floats, 0 below -87.3366: 2^n e^r, 16 n the integer nearest to 16 x / ln 2, |r| < 0.0217. The sum with 1.5
// 2^19 has 16 n in its last bits. The lowest four of them choose the power of 2^(1/16).
[[gnu::always_inline]] inline __m512 exp_by_table(__m512 x) {
  alignas(64) static constexpr float power[16] = {
      0x1p+0f,        0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f,  0x1.3dea64p+0f,
      0x1.4bfdaep+0f, 0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
      0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f};
  const auto all = [](float c) __attribute__((always_inline)) { return _mm512_set1_ps(c); };
  const __mmask16 normal = _mm512_cmp_ps_mask(x, all(-87.33654f), _CMP_NLT_UQ); // or NaN
  x = _mm512_min_ps(all(89.0f), x);                                             // a NaN stays
  const __m512 shift = all(0x1.8p19f), t = _mm512_fmadd_ps(x, all(std::numbers::log2e_v<float>), shift),
               n = _mm512_sub_ps(t, shift);
  const __m512 r = _mm512_fmadd_ps(n, all(2.12194440e-4f), _mm512_fmadd_ps(n, all(-0.693359375f), x));
  const __m512 head = _mm512_permutexvar_ps(_mm512_castps_si512(t), _mm512_load_ps(power));
  const __m512 p = _mm512_fmadd_ps(_mm512_fmadd_ps(r, all(1.0f / 6), all(0.5f)), r, all(1.0f));
  return _mm512_maskz_scalef_ps(normal, _mm512_fmadd_ps(_mm512_mul_ps(head, r), p, head), n);
}
#endif

// Doubles: xsimd's exp is infinite from 709.44 on, e^x only from 709.783 on. So beyond 709 it is e * exp(x - 1), where
// x - 1 is exact.
template <class V> [[gnu::always_inline]] inline V exp(const V& x) {
  using T = typename V::value_type;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4 && sizeof(V) == 64) return V(exp_by_table(x.data));
  else
#endif
      if constexpr (sizeof(T) == 4) {
    const V y = select(x < V(-87.33654f), V(0.0f), exp_within(x));
    return select(x <= V(88.72283f), y, x + V(std::numeric_limits<float>::infinity())); // a NaN is not <=
  } else {
    V y = xsimd::exp(x);
    const auto high = x > V(T(709));
    if (xsimd::any(high)) y = select(high, xsimd::exp(x - V(T(1))) * V(std::numbers::e_v<T>), y);
    return y;
  }
}
// Our own: xsimd's is wrong for subnormal doubles, and xsimd 8's does not compile for AVX-512 without optimisation.
// x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); log x = k ln 2 + log(1 + f), ln 2 in two terms.
// float: log(1 + f) = f - f^2 / 2 + f^3 p(f) (Cephes).   double: s = f / (2 + f), log(1 + f) = 2 atanh s =
// f - f^2 / 2 + s (f^2 / 2 + z p(z)), z = s^2 (fdlibm).
template <class V> [[gnu::always_inline]] inline V log(const V& x) {
  using T = typename V::value_type;
  using limits = std::numeric_limits<T>;
  constexpr bool is_float = sizeof(T) == 4;
  using B = std::conditional_t<is_float, std::uint32_t, std::uint64_t>;
  using bits = typename vector_of<B, static_cast<int>(V::size)>::type;
  constexpr int digits = limits::digits - 1;
  constexpr B one_bits = std::bit_cast<B>(T(1)), root = std::bit_cast<B>(static_cast<T>(0.7071067811865476)),
              magic = std::bit_cast<B>(static_cast<T>(B(1) << digits)); // its last bits are an integer
  const auto of_bits = [](const bits& b) __attribute__((always_inline)) {
    return V(std::bit_cast<typename V::register_type>(b));
  };
  const auto small = x < V(limits::min()); // its exponent is that of x 2^digits
  const V y = select(small, x * V(static_cast<T>(B(1) << digits)), x);
  const bits b = std::bit_cast<bits>(y.data) + (one_bits - root);
  const V bias = select(small, V(static_cast<T>((B(1) << digits) + (one_bits >> digits) + digits)),
                        V(static_cast<T>((B(1) << digits) + (one_bits >> digits))));
  const V k = of_bits((b >> digits) | magic) - bias;
  const V f = of_bits((b & ((B(1) << digits) - 1)) + root) - V(T(1)), half = V(T(0.5)) * f * f;
  V r;
  if constexpr (is_float) {
    constexpr double p[] = {3.3333331174e-1,  -2.4999993993e-1, 2.0000714765e-1,
                            -1.6668057665e-1, 1.4249322787e-1,  -1.2420140846e-1,
                            1.1676998740e-1,  -1.1514610310e-1, 7.0376836292e-2};
    r = fma(k, V(0.693359375f), f + fma(polynomial(p, f), f * f * f, fma(k, V(-2.12194440e-4f), -half)));
  } else {
    constexpr double p[] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                            2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                            1.479819860511658591e-01};
    const V s = f / (V(T(2)) + f), z = s * s;
    const V low = fma(s, fma(polynomial(p, z), z, half), k * V(T(1.90821492927058770002e-10)));
    r = fma(k, V(T(6.93147180369123816490e-01)), f - (half - low));
  }
  const V special = select(x == V(T(0)), V(-limits::infinity()), V(limits::quiet_NaN()));
  return select(x > V(T(0)), select(x < V(limits::infinity()), r, x), special);
}
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
    const V tail = polynomial(terms::q, one / (b + V(T(2)))) * xsimd::exp(-(b * b));
    const V far = select(x < V(T(0)), tail - one, one - tail);
    return select(a > one, far, fma(x, polynomial(terms::p, x * x), x)); // a NaN is not > 1
  }
}

// 1 / (1 + e^-x), without an e^-x that overflows
template <class V> [[gnu::always_inline]] inline V sigmoid(const V& x) {
  using T = typename V::value_type;
  const V one(T(1)), e = exp<V>(-xsimd::abs(x));
  return select(x < V(T(0)), e, one) / (one + e);
}

} // namespace tapeless::cpu
