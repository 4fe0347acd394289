// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What the functions of this room are made of: bits of lanes, powers of two, polynomials, and sums and products with their
// rounding errors (Dekker, Numerische Mathematik 18, 1971; Knuth, TAOCP 2, 4.2.2).
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include "../../../expr/op.hpp"
#include "../simd/vector.hpp"

namespace tapeless::cpu {

template <class V> inline constexpr bool of_floats = sizeof(typename V::value_type) == 4;

template <class V>
using bit_lane = std::conditional_t<of_floats<V>, std::uint32_t, std::uint64_t>;
template <class V> using bit_lanes = typename vector_of<bit_lane<V>, static_cast<int>(V::size)>::type;
template <class V> [[gnu::always_inline]] inline bit_lanes<V> to_bits(const V& x) {
  return std::bit_cast<bit_lanes<V>>(x.data);
}
template <class V> [[gnu::always_inline]] inline V from_bits(const bit_lanes<V>& b) {
  return V(std::bit_cast<typename V::register_type>(b));
}

// Where significands end, and a number that has an integer in its last bits once it is added to it
template <class V> struct format_of {
  using T = typename V::value_type;
  using B = bit_lane<V>;
  static constexpr int digits = std::numeric_limits<T>::digits - 1,
                       bias = std::numeric_limits<T>::max_exponent - 1;
  static constexpr B one = std::bit_cast<B>(T(1)), sign = std::bit_cast<B>(T(-0.0));
  static constexpr T shift = static_cast<T>(of_floats<V> ? 0x1.8p23 : 0x1.8p52);
};

/// The nearest integer, the even one of two; |x| < 2^22, for doubles 2^51.
template <class V> [[gnu::always_inline]] inline V nearest(const V& x) {
  const V shift(format_of<V>::shift);
  return (x + shift) - shift;
}
/// 2^n, n an integer and 2^n a normal number.
template <class V> [[gnu::always_inline]] inline V power_of_two(const V& n) {
  using format = format_of<V>;
  return from_bits<V>(to_bits(n + V(format::shift + format::bias)) << format::digits);
}
/// y 2^n, n an integer, |n| at most twice the largest exponent; |y| > 1/4 where n is less than -1. It is rounded once, below the
/// normal numbers, too.
template <class V> [[gnu::always_inline]] inline V scale(const V& y, const V& n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && of_floats<V>) return V(_mm512_scalef_ps(y.data, n.data));
  else if constexpr (sizeof(V) == 64) return V(_mm512_scalef_pd(y.data, n.data));
  else
#endif
  {
    // a power that is normal, or two
    if (!xsimd::any(xsimd::abs(n) > V(static_cast<typename V::value_type>(format_of<V>::bias - 1))))
      return y * power_of_two(n);
    const V half = nearest(n * V(typename V::value_type(0.5)));
    return y * power_of_two(half) * power_of_two(n - half);
  }
}

/// |x| with the sign of s: for a NaN, too.
template <class V> [[gnu::always_inline]] inline V with_sign(const V& x, const V& s) {
  constexpr bit_lane<V> sign = format_of<V>::sign;
  return from_bits<V>((to_bits(x) & ~sign) | (to_bits(s) & sign));
}
/// y, at most `most`. A NaN stays.
template <class V> [[gnu::always_inline]] inline V at_most(const V& y, typename V::value_type most) {
  return min_or_second(V(most), y);
}
template <class V> [[gnu::always_inline]] inline V at_least(const V& y, typename V::value_type least) {
  return max_or_second(V(least), y);
}

/// c[0] + c[1] u + c[2] u^2 + ...
template <class V, int N> [[gnu::always_inline]] inline V polynomial(const double (&c)[N], const V& u) {
  using T = typename V::value_type;
  V y(static_cast<T>(c[N - 1]));
  unroll<N - 1>([&](auto k)
                    __attribute__((always_inline)) { y = fma(y, u, V(static_cast<T>(c[N - 2 - k]))); });
  return y;
}
// The same from blocks of Size coefficients, whose sums the machine computes beside one another. Size is 4 or 8.
template <int Size, class V, int N>
[[gnu::always_inline]] inline V polynomial_of_blocks(const double (&c)[N], const V& u) {
  using T = typename V::value_type;
  constexpr int blocks = (N + Size - 1) / Size;
  const V u2 = u * u, u4 = u2 * u2, power = Size == 4 ? u4 : u4 * u4;
  const auto block = [&](auto k) __attribute__((always_inline)) {
    constexpr int from = k * Size, last = (from + Size < N ? from + Size : N) - 1;
    V y(static_cast<T>(c[last]));
    unroll<last - from>(
        [&](auto i) __attribute__((always_inline)) { y = fma(y, u, V(static_cast<T>(c[last - 1 - i]))); });
    return y;
  };
  V y = block(std::integral_constant<int, blocks - 1>{});
  unroll<blocks - 1>([&](auto k) __attribute__((always_inline)) {
    y = fma(y, power, block(std::integral_constant<int, blocks - 2 - k>{}));
  });
  return y;
}
template <class V, int N> [[gnu::always_inline]] inline V polynomial_of_length(const double (&c)[N],
                                                                               const V& u) {
  if constexpr (N < 7) return polynomial(c, u);
  else return polynomial_of_blocks<(N < 13 ? 4 : 8)>(c, u);
}
/// The first one for floats, the second one for doubles.
template <class V, int N, int M>
[[gnu::always_inline]] inline V polynomial(const double (&f)[N], const double (&d)[M], const V& u) {
  if constexpr (of_floats<V>) return polynomial_of_length(f, u);
  else return polynomial_of_length(d, u);
}

// A sum that is not added up: |low| is at most about half an ulp of high, or small beside it
template <class V> struct two_terms {
  V high, low;
};
/// a + b, high is the rounded sum.
template <class V> [[gnu::always_inline]] inline two_terms<V> exact_sum(const V& a, const V& b) {
  const V s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
/// The same for |a| >= |b|, or a = 0.
template <class V> [[gnu::always_inline]] inline two_terms<V> exact_sum_ordered(const V& a, const V& b) {
  const V s = a + b;
  return {s, b - (s - a)};
}
/// a b, high is the rounded product.
template <class V> [[gnu::always_inline]] inline two_terms<V> exact_product(const V& a, const V& b) {
  V p = a * b;
  opaque(p); // no compiler contracts it into a sum
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return {p, fma(a, b, -p)};
#else
  constexpr bit_lane<V> mask =
      of_floats<V> ? static_cast<bit_lane<V>>(~0xfffu) : static_cast<bit_lane<V>>(~0x7ffffffULL);
  const V ah = from_bits<V>(to_bits(a) & mask), al = a - ah;
  const V bh = from_bits<V>(to_bits(b) & mask), bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
#endif
}
/// a b + c, where the exact product cancels against c: rounded once with FMA, else two or three times.
template <class V> [[gnu::always_inline]] inline V residual(const V& a, const V& b, const V& c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return fma(a, b, c);
#else
  const two_terms<V> p = exact_product(a, b);
  return (p.high + c) + p.low;
#endif
}

// ln 2 in two terms: n times the first one is exact for |n| < 2^11, of floats 2^15
template <class V> struct ln2_of {
  using T = typename V::value_type;
  static constexpr T high = static_cast<T>(of_floats<V> ? 0.693359375 : 6.93147180369123816490e-01);
  static constexpr T low = static_cast<T>(of_floats<V> ? -2.12194440e-4 : 1.90821492927058770002e-10);
};
/// x - n ln 2, where it is less than n ln 2.
template <class V> [[gnu::always_inline]] inline two_terms<V> minus_ln2(const V& x, const V& n) {
  const V high = fma(n, V(-ln2_of<V>::high), x), low = n * V(ln2_of<V>::low), r = high - low;
  return {r, (high - r) - low};
}

// x = 2^k m with sqrt(1/2) <= m < sqrt(2), x > 0 and finite; subnormal only if Subnormal says so.
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

// function_for<O>::of(x...): op O of vectors of floating-point numbers. Specialised beside the function.
template <detail::op O> struct function_for {
  static_assert(
      O == detail::op::count_,
      "tapeless: an elementwise op has its function of vectors: cpu::function_for<op> in cpu/base/math/");
};

} // namespace tapeless::cpu
