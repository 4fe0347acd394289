// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// partial_vector<T, N> holds N lanes of T, fewer than simd<T>: for the last columns of a small product or a row of a
// sparse matrix. Every function means the same on any machine, and uses the instructions of this one where it has
// them.
#include <cstring>
#include <utility>

#include "simd.hpp"

namespace tapeless::cpu {

template <class T, int N> using partial_vector = typename vector_of<T, N>::type;
/// A vector of 16 bytes, which any machine has: 4 floats or 2 doubles.
template <class T> inline constexpr int narrow_width = 16 / static_cast<int>(sizeof(T));
template <class T> using narrow = partial_vector<T, narrow_width<T>>;

template <class T> [[gnu::always_inline]] inline narrow<T> load_narrow(const T* p) {
  narrow<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
/// (f(0), f(1), ...), made in registers
template <class T, int N, class F> [[gnu::always_inline]] inline partial_vector<T, N> pack_lanes(F f) {
  return [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    return partial_vector<T, N>{f(I)...};
  }(std::make_integer_sequence<int, N>{});
}
template <class T, class F> [[gnu::always_inline]] inline narrow<T> pack_narrow(F f) {
  return pack_lanes<T, narrow_width<T>>(f);
}
/// p[0 .. L), zeros in the other lanes; memory beyond is not read.
template <class T, int N, int L> [[gnu::always_inline]] inline partial_vector<T, N> load_lanes(const T* p) {
  partial_vector<T, N> v;
  if constexpr (L == N) {
    std::memcpy(&v, p, sizeof v);
    return v;
  }
#if defined(__AVX512VL__)
  constexpr __mmask16 first = (1u << L) - 1;
  if constexpr (sizeof(T) == 4) {
    if constexpr (N == 16) return _mm512_maskz_loadu_ps(first, p);
    else if constexpr (N == 8) return _mm256_maskz_loadu_ps(first, p);
    else if constexpr (N == 4) return _mm_maskz_loadu_ps(first, p);
  } else {
    if constexpr (N == 8) return _mm512_maskz_loadu_pd(first, p);
    else if constexpr (N == 4) return _mm256_maskz_loadu_pd(first, p);
    else if constexpr (N == 2) return _mm_maskz_loadu_pd(first, p);
  }
#endif
  return pack_lanes<T, N>([=](int i) { return i < L ? p[i] : T(0); });
}
/// v's lanes 0 .. L to p.
template <class T, int N, int L> [[gnu::always_inline]] inline void store_lanes(T* p,
                                                                                partial_vector<T, N> v) {
  if constexpr (L == N) {
    std::memcpy(p, &v, sizeof v);
    return;
  }
#if defined(__AVX512VL__)
  constexpr __mmask16 first = (1u << L) - 1;
  if constexpr (sizeof(T) == 4) {
    if constexpr (N == 16) return _mm512_mask_storeu_ps(p, first, v);
    else if constexpr (N == 8) return _mm256_mask_storeu_ps(p, first, v);
    else if constexpr (N == 4) return _mm_mask_storeu_ps(p, first, v);
  } else {
    if constexpr (N == 8) return _mm512_mask_storeu_pd(p, first, v);
    else if constexpr (N == 4) return _mm256_mask_storeu_pd(p, first, v);
    else if constexpr (N == 2) return _mm_mask_storeu_pd(p, first, v);
  }
#endif
  unroll<L>([&](auto i) __attribute__((always_inline)) { p[i] = v[i.value]; });
}
template <class T, int N>
[[gnu::always_inline]] inline partial_vector<T, N> fma_lanes(partial_vector<T, N> a, partial_vector<T, N> b,
                                                             partial_vector<T, N> c) {
#if defined(__AVX512F__)
  if constexpr (sizeof a == 64) {
    if constexpr (sizeof(T) == 4) return _mm512_fmadd_ps(a, b, c);
    else return _mm512_fmadd_pd(a, b, c);
  }
#endif
#if defined(__FMA__)
  if constexpr (sizeof a == 32) {
    if constexpr (sizeof(T) == 4) return _mm256_fmadd_ps(a, b, c);
    else return _mm256_fmadd_pd(a, b, c);
  }
  if constexpr (sizeof a == 16) {
    if constexpr (sizeof(T) == 4) return _mm_fmadd_ps(a, b, c);
    else return _mm_fmadd_pd(a, b, c);
  }
#elif defined(__ARM_FEATURE_FMA)
  if constexpr (N > 0) return pack_lanes<T, N>([&](int i) { return fma_scalar<T>(a[i], b[i], c[i]); });
#endif
  return a * b + c;
}
template <class T>
[[gnu::always_inline]] inline narrow<T> fma_narrow(narrow<T> a, narrow<T> b, narrow<T> c) {
  return fma_lanes<T, narrow_width<T>>(a, b, c);
}
/// Sum of the lanes in pairs: (v0 + v2) + (v1 + v3).
template <class T> [[gnu::always_inline]] inline T hsum_narrow(narrow<T> v) {
  if constexpr (narrow_width<T> == 4) return (v[0] + v[2]) + (v[1] + v[3]);
  else return v[0] + v[1];
}

} // namespace tapeless::cpu
