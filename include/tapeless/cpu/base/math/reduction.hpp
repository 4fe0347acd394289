// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// x = n pi / 2 + r + low, |r| <= pi / 4 (a little more), for x >= 0. What follows needs n modulo 4.
//   up to a bound: n is the integer nearest to 2 x / pi, and n pi / 2 is subtracted in three terms (Cody and Waite)
//   beyond (without FMA also where r is so small that the terms do not do): one lane after another, 2 x / pi modulo 4 from the
//   bits of 2 / pi that count (Payne and Hanek, SIGNUM Newsletter 18, 1983)
#pragma once
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include "../simd/vector.hpp"
#include "arithmetic.hpp"

namespace tapeless::cpu {

template <class V> struct reduced {
  V r, low;
  bit_lanes<V> n; // modulo 4; the other bits are anything
};

// The bits of 2 / pi, behind 64 zeros
inline constexpr std::uint32_t two_over_pi[] = {
    0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
    0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
    0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046};

struct reduced_scalar {
  double r, low;
  unsigned n;
};
// x > 0.25. x = m 2^e, m < 2^53. Bits of 2 / pi before the one of weight 2^(1 - e) add multiples of 4 to 2 x / pi. The product
// of m and 192 bits from there, modulo 2^192, is 2^190 (2 x / pi modulo 4), to within 2^-137 of what is at least 2^-62 from an
// integer.
// V names the machine, so that objects built with other flags have functions of other names.
template <class V> [[gnu::noinline]] reduced_scalar reduce_exactly(double x) {
  if (!(x <= 0x1.fffffffffffffp1023)) return {x - x, x - x, 0};
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x), m = (bits & ((1ULL << 52) - 1)) | (1ULL << 52);
  const int e = static_cast<int>(bits >> 52) - 1075, first = e - 2 + 64;
  std::uint32_t window[6], product[6] = {}; // the last word first
  for (int i = 0; i < 6; ++i) {
    const std::uint32_t* const w = two_over_pi + first / 32 + i;
    window[5 - i] = static_cast<std::uint32_t>((((std::uint64_t(w[0]) << 32) | w[1]) << (first % 32)) >> 32);
  }
  for (int j = 0; j < 2; ++j) {
    std::uint64_t carry = 0;
    for (int i = 0; i + j < 6; ++i) {
      carry += std::uint64_t(window[i]) * static_cast<std::uint32_t>(m >> (32 * j)) + product[i + j];
      product[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  const bool above = (product[5] >> 29 & 1) != 0; // the nearest integer is the next one
  const unsigned n = (product[5] >> 30) + above;
  product[5] &= (1u << 30) - 1;
  double high = 0, low = 0;
  if (above) product[5] |= 3u << 30;
  // the fraction, from -1/2 to 1/2, in two terms
  for (int i = 5; i >= 0; --i) {
    const std::uint32_t word = above ? ~product[i] : product[i];
    const double term = std::ldexp(static_cast<double>(word), 32 * i - 190), sum = high + term;
    low += term - (sum - high);
    high = sum;
  }
  constexpr double half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;
  const double p = high * half_pi, rest = std::fma(high, half_pi, -p) + (high * half_pi_low + low * half_pi);
  const double r = p + rest, r_low = rest - (r - p);
  return {above ? -r : r, above ? -r_low : r_low, n};
}

// The lanes where wrong is not 0. n: the bits of a number, so that no vector of integers has an address: it would live in memory
template <class V, class T>
[[gnu::noinline]] void reduce_lanes(const T* x, const T* wrong, T* r, T* low, T* n) {
  for (std::size_t i = 0; i < V::size; ++i) {
    if (wrong[i] == 0) continue;
    const reduced_scalar s = reduce_exactly<V>(static_cast<double>(x[i]));
    r[i] = static_cast<T>(s.r);
    low[i] = static_cast<T>((s.r - static_cast<double>(r[i])) + s.low);
    n[i] = std::bit_cast<T>(static_cast<bit_lane<V>>(s.n));
  }
}
template <class V> [[gnu::always_inline]] inline void reduce_where(const mask_of<V>& wrong, const V& x,
                                                                   reduced<V>& y) {
  using T = typename V::value_type;
  constexpr int W = static_cast<int>(V::size);
  if (!xsimd::any(wrong)) [[likely]]
    return;
  alignas(64) T in[W], flag[W], r[W], low[W], n[W];
  x.store_aligned(in);
  select(wrong, V(T(1)), V(T(0))).store_aligned(flag);
  y.r.store_aligned(r);
  y.low.store_aligned(low);
  from_bits<V>(y.n).store_aligned(n);
  reduce_lanes<V>(in, flag, r, low, n);
  y.r = V::load_aligned(r);
  y.low = V::load_aligned(low);
  y.n = to_bits(V::load_aligned(n));
}

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
// Up to here the first way does: n is right, n times what the terms leave of pi / 2 is small, the first difference is exact.
template <class V> inline constexpr double reduced_quickly = of_floats<V> ? 0x1p16 : 0x1p30;
// The second difference is rounded, the third one is small. Precise: low is what the rounding leaves; else
// it is 0.
template <bool Precise, class V> [[gnu::always_inline]] inline reduced<V> reduce(const V& x) {
  using T = typename V::value_type;
  constexpr double term[] = {of_floats<V> ? 0x1.921fb6p+0 : 0x1.921fb54442d18p+0,
                             of_floats<V> ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54,
                             of_floats<V> ? -0x1.ee59dap-50 : -0x1.f1976b7ed8fbcp-110};
  const V first(static_cast<T>(-term[0])), second(static_cast<T>(-term[1])), third(static_cast<T>(-term[2]));
  const V shift(format_of<V>::shift), t = fma(x, V(static_cast<T>(0x1.45f306dc9c883p-1)), shift),
                                      n = t - shift;
  const V a = fma(n, first, x);
  reduced<V> y;
  if constexpr (Precise) {
    const two_terms<V> b = exact_product(n, second), h = exact_sum_ordered(a, b.high);
    y = {h.high, fma(n, third, h.low + b.low), to_bits(t)};
  } else y = {fma(n, third, fma(n, second, a)), V(T(0)), to_bits(t)};
  reduce_where(x > V(static_cast<T>(reduced_quickly<V>)), x, y);
  return y;
}
#else
template <class V> inline constexpr double reduced_quickly = of_floats<V> ? 0x1p16 : 0x1p20;
// Of doubles: n times the first two terms is exact, the error of n times the third one is below 2^-99. So r must be above n 2^-66.
template <bool, class V>
  requires(!of_floats<V>)
[[gnu::always_inline]] inline reduced<V> reduce(const V& x) {
  const V shift(format_of<V>::shift), t = x * V(0x1.45f306dc9c883p-1) + shift, n = t - shift;
  const V a = x - n * V(0x1.921fb544p+0), b = n * V(0x1.0b4611a6p-34), h = a - b;
  const V rest = ((a - h) - b) - n * V(0x1.3198a2e037073p-69), r = h + rest;
  reduced<V> y{r, rest - (r - h), to_bits(t)};
  reduce_where((x > V(reduced_quickly<V>)) | (xsimd::abs(r) < n * V(0x1p-66)), x, y);
  return y;
}
// Of floats, in doubles.
template <bool, class V>
  requires of_floats<V>
[[gnu::always_inline]] inline reduced<V> reduce(const V& x) {
  const V shift(format_of<V>::shift), t = x * V(0x1.45f306p-1f) + shift, n = t - shift;
  constexpr int W = static_cast<int>(V::size);
  using floats = typename vector_of<float, W>::type;
  using doubles = typename vector_of<double, W>::type;
  // not functions: doubles may be wider than what the machine returns in a register
  const doubles x2 = __builtin_convertvector(std::bit_cast<floats>(x.data), doubles);
  const doubles n2 = __builtin_convertvector(std::bit_cast<floats>(n.data), doubles);
  const doubles r2 = (x2 - n2 * 0x1.921fb544p+0) - n2 * 0x1.0b4611a6263p-34;
  const floats r1 = __builtin_convertvector(r2, floats);
  const floats low1 = __builtin_convertvector(r2 - __builtin_convertvector(r1, doubles), floats);
  const V r(std::bit_cast<typename V::register_type>(r1)),
      low(std::bit_cast<typename V::register_type>(low1));
  reduced<V> y{r, low, to_bits(t)};
  reduce_where(x > V(static_cast<float>(reduced_quickly<V>)), x, y);
  return y;
}
#endif

} // namespace tapeless::cpu
