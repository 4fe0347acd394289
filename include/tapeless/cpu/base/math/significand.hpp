// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// x = 2^k m with sqrt(1/2) <= m < sqrt(2), x > 0 and finite; subnormal only if Subnormal says so.
#pragma once
#include <bit>
#include <limits>
#include "../simd/vector.hpp"
#include "arithmetic.hpp"

namespace tapeless::cpu {

template <class V> struct significand {
  V k, m;
};
template <bool Subnormal, class V> [[gnu::always_inline]] inline significand<V> significand_of(const V& x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    if constexpr (of_floats<V>) {
      const __m512 m = _mm512_getmant_ps(x.data, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src),
                   k = _mm512_getexp_ps(x.data);
      const __mmask16 upper = _mm512_cmp_ps_mask(m, _mm512_set1_ps(0x1.6a09e6p0f), _CMP_GE_OQ);
      return {_mm512_mask_add_ps(k, upper, k, _mm512_set1_ps(1.0f)),
              _mm512_mask_mul_ps(m, upper, m, _mm512_set1_ps(0.5f))};
    } else {
      const __m512d m = _mm512_getmant_pd(x.data, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src),
                    k = _mm512_getexp_pd(x.data);
      const __mmask8 upper = _mm512_cmp_pd_mask(m, _mm512_set1_pd(0x1.6a09e667f3bcdp0), _CMP_GE_OQ);
      return {_mm512_mask_add_pd(k, upper, k, _mm512_set1_pd(1.0)),
              _mm512_mask_mul_pd(m, upper, m, _mm512_set1_pd(0.5))};
    }
  } else
#endif
  {
    using T = typename V::value_type;
    using B = bit_lane<V>;
    constexpr int digits = format_of<V>::digits;
    constexpr B one = format_of<V>::one, root = std::bit_cast<B>(static_cast<T>(0.7071067811865476));
    constexpr B magic = std::bit_cast<B>(static_cast<T>(B(1) << digits)); // its last bits are an integer
    V y = x, bias(static_cast<T>((B(1) << digits) + (one >> digits)));
    if constexpr (Subnormal) {
      const auto small = x < V(std::numeric_limits<T>::min()); // its exponent is that of x 2^digits
      if (xsimd::any(small)) {
        y = select(small, x * V(static_cast<T>(B(1) << digits)), x);
        bias = select(small, V(static_cast<T>((B(1) << digits) + (one >> digits) + digits)), bias);
      }
    }
    const bit_lanes<V> b = to_bits(y) + (one - root);
    return {from_bits<V>((b >> digits) | magic) - bias, from_bits<V>((b & ((B(1) << digits) - 1)) + root)};
  }
}

} // namespace tapeless::cpu
