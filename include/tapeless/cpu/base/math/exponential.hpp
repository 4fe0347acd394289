// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// e^x, 2^x and e^x - 1 within 2 ulp, of all lanes. exp(x) of floats may be 0 where it is below the smallest normal number; else
// the bound holds there, too. NaN stays NaN, expm1(+-0) = +-0.
//   exp2: x = n + f, |f| <= 1/2; 2^n (1 + f p(f))
//   expm1: x = n ln 2 + r + c, ln 2 in two terms (Cody and Waite), c the rounding error of r;
//     m = e^(r + c) - 1 = r + (r^2 p(r) + c), e^x - 1 = 2^n (m + (1 - 2^-n)); exp of doubles: 2^n (1 + m)
// Coefficients: tools/minimax.py.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <numbers>
#include "../../../expr/op.hpp"
#include "../simd/vector.hpp"
#include "arithmetic.hpp"

namespace tapeless::cpu {

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

// e^x = 2^n (1 + m), |m| < 0.42, for |x| < 2000
template <class V> struct exp_parts {
  V n, m;
};
template <class V> [[gnu::always_inline]] inline exp_parts<V> exp_parts_of(const V& x) {
  static constexpr double f[] = {0.5000000042,   0.1666666682,   0.04166636534,
                                 0.008333272961, 0.001394038713, 0.0001991424639};
  static constexpr double d[] = {0.5,
                                 0.166666666666666759,
                                 0.0416666666666666995,
                                 0.00833333333332210899,
                                 0.00138888888888675298,
                                 0.000198412698850767279,
                                 0.0000248015873595349475,
                                 2.75572451400176482e-6,
                                 2.75572434172636242e-7,
                                 2.51087483595355202e-8,
                                 2.09242898490611459e-9};
  using T = typename V::value_type;
  const V n = nearest(x * V(std::numbers::log2e_v<T>));
  const two_terms<V> r = minus_ln2(x, n);
  return {n, r.high + fma(r.high * r.high, polynomial(f, d, r.high), r.low)};
}

template <class V> [[gnu::always_inline]] inline V exp(const V& x) {
#if defined(__AVX512F__)
  if constexpr (of_floats<V> && sizeof(V) == 64) return V(exp_by_table(x.data));
  else
#endif
      if constexpr (of_floats<V>) {
    const V y = select(x < V(-87.33654f), V(0.0f), exp_within(x));
    return select(x <= V(88.72283f), y, x + V(std::numeric_limits<float>::infinity())); // a NaN is not <=
  } else {
    const exp_parts<V> e = exp_parts_of(at_most(at_least(x, -760), 711));
    return scale(V(1.0) + e.m, e.n);
  }
}
template <class V> [[gnu::always_inline]] inline V exp2(const V& x) {
  static constexpr double f[] = {0.6931472048,  0.2402265135,   0.0555032962,
                                 0.00961800305, 0.001339977424, 0.0001547652447};
  static constexpr double d[] = {0.693147180559945309,    0.240226506959100712,    0.0555041086648216893,
                                 0.00961812910762849455,  0.00133335581463921181,  0.000154035303933417898,
                                 0.000015252733854910747, 1.32154868327168894e-6,  1.01780516806639157e-7,
                                 7.05488832667840228e-9,  4.45661172735951225e-10, 2.57417494390927634e-11};
  using T = typename V::value_type;
  const V y = at_most(at_least(x, of_floats<V> ? -160 : -1080), of_floats<V> ? 130 : 1030), n = nearest(y),
          r = y - n;
  return scale(fma(r, polynomial(f, d, r), V(T(1))), n);
}

template <class V> [[gnu::always_inline]] inline V expm1(const V& x) {
  using T = typename V::value_type;
  const exp_parts<V> e =
      exp_parts_of(at_most(at_least(x, of_floats<V> ? -20 : -40), of_floats<V> ? 90 : 711));
  const V one(T(1)), y = e.m + (one - power_of_two(-at_most(e.n, 70)));
  return with_sign(scale(y, e.n), x);
}

// ---- by op
template <> struct function_for<detail::op::exp> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::exp(x); }
};
template <> struct function_for<detail::op::exp2> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::exp2(x); }
};
template <> struct function_for<detail::op::expm1> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::expm1(x); }
};

} // namespace tapeless::cpu
