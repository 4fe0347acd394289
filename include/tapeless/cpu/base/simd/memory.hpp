// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Loads and stores of vectors: whole ones, the first n lanes, strided, indexed, past the caches.
// The suffix _n means the first n lanes, 0 <= n <= width. Memory beyond them is neither read nor written, and the other
// lanes are zero.
#include <bit>
#include <cstdint>
#include <type_traits>

#include "vector.hpp"

namespace tapeless::cpu {

#if defined(__AVX512F__)
/// Writes first + l to `out` for each of the 16 lanes l at p that is not 0 (Zeros: that is 0), without gaps. Returns
/// their number.
template <bool Zeros>
[[gnu::always_inline]] inline int store_places(const float* p, std::int32_t first, std::int32_t* out) {
  const __mmask16 m =
      _mm512_cmp_ps_mask(_mm512_loadu_ps(p), _mm512_setzero_ps(), Zeros ? _CMP_EQ_OQ : _CMP_NEQ_UQ);
  const int n = std::popcount(static_cast<unsigned>(m));
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i places = _mm512_maskz_compress_epi32(m, _mm512_add_epi32(lane, _mm512_set1_epi32(first)));
  _mm512_mask_storeu_epi32(out, static_cast<__mmask16>((1u << n) - 1), places);
  return n;
}
#endif

/// p[0 .. W), p need not be aligned.
template <class V> [[gnu::always_inline]] inline V load(const typename V::value_type* p) {
  return V::load_unaligned(p);
}

template <class T> [[gnu::always_inline]] inline void store(T* p, const simd<T>& v) { v.store_unaligned(p); }

/// A result of this many bytes has left the caches before it is read.
inline constexpr index_t larger_than_caches = 1 << 25;
/// store() past the caches, where the machine can: for whole lines that are not read soon.   @pre p is aligned to V
template <class T> [[gnu::always_inline]] inline void store_past_caches(T* p, const simd<T>& v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(v) == 64)
    return _mm512_stream_si512(reinterpret_cast<__m512i*>(p), std::bit_cast<__m512i>(v.data));
#elif defined(__AVX2__)
  if constexpr (sizeof(v) == 32)
    return _mm256_stream_si256(reinterpret_cast<__m256i*>(p), std::bit_cast<__m256i>(v.data));
#endif
  store(p, v);
}
/// Orders the writes of store_past_caches before all that follows.
inline void end_stores_past_caches() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}
template <class T> [[gnu::always_inline]] inline bool lines_up(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % 64 == 0;
}

template <class V> [[gnu::always_inline]] inline V load_n(const typename V::value_type* p, index_t n) {
  using T = typename V::value_type;
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    if constexpr (std::is_same_v<T, float>) // a masked load would wait for a store of one lane
      if (n == 1) return V(_mm512_zextps128_ps512(_mm_load_ss(p)));
    const unsigned k = (1u << n) - 1;
    if constexpr (std::is_same_v<T, float>) return V(_mm512_maskz_loadu_ps(static_cast<__mmask16>(k), p));
    else if constexpr (std::is_same_v<T, double>)
      return V(_mm512_maskz_loadu_pd(static_cast<__mmask8>(k), p));
    else if constexpr (sizeof(T) == 4) return V(_mm512_maskz_loadu_epi32(static_cast<__mmask16>(k), p));
    else return V(_mm512_maskz_loadu_epi64(static_cast<__mmask8>(k), p));
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(V) == 32) {
    if constexpr (std::is_same_v<T, float>)
      return V(_mm256_maskload_ps(p, _mm256_castps_si256(lane_mask<V>(n).data)));
    if constexpr (std::is_same_v<T, double>)
      return V(_mm256_maskload_pd(p, _mm256_castpd_si256(lane_mask<V>(n).data)));
    if constexpr (std::is_same_v<T, std::int32_t>) return V(_mm256_maskload_epi32(p, lane_mask<V>(n).data));
  }
#endif
  alignas(64) T t[V::size] = {};
  for (index_t i = 0; i < n; ++i) t[i] = p[i];
  return V::load_aligned(t);
}

/// p[l] in the lanes l whose bit is set; the others are zero, and not read.
template <class V> [[gnu::always_inline]] inline V load_lanes(const typename V::value_type* p,
                                                              unsigned lanes) {
  using T = typename V::value_type;
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && std::is_same_v<T, float>)
    return V(_mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes), p));
  if constexpr (sizeof(V) == 64 && std::is_same_v<T, double>)
    return V(_mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes), p));
#endif
  alignas(64) T t[V::size] = {};
  for (unsigned l = 0; l < V::size; ++l)
    if (lanes >> l & 1) t[l] = p[l];
  return V::load_aligned(t);
}

template <class T> inline void store_n(T* p, simd<T> v, index_t n) {
  using V = simd<T>;
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    if constexpr (std::is_same_v<T, float>)
      if (n == 1) return _mm_store_ss(p, _mm512_castps512_ps128(v.data));
    const unsigned k = (1u << n) - 1;
    if constexpr (std::is_same_v<T, float>) _mm512_mask_storeu_ps(p, static_cast<__mmask16>(k), v.data);
    else if constexpr (std::is_same_v<T, double>) _mm512_mask_storeu_pd(p, static_cast<__mmask8>(k), v.data);
    else if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(k), v.data);
    else _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(k), v.data);
    return;
  }
#elif defined(__AVX2__)
  // Stores halves of what is left: the masked stores of AVX2 are microcode on AMD's machines.
  if constexpr (sizeof(V) == 32 && sizeof(T) == 4) {
    if (n == 8) return store(p, v);
    const __m256i bits = std::bit_cast<__m256i>(v.data);
    __m128i lo = _mm256_castsi256_si128(bits);
    if ((n & 4) != 0) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p), lo);
      lo = _mm256_extracti128_si256(bits, 1);
      p += 4;
    }
    if ((n & 2) != 0) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(p), lo);
      lo = _mm_unpackhi_epi64(lo, lo);
      p += 2;
    }
    if ((n & 1) != 0) *p = std::bit_cast<T>(_mm_cvtsi128_si32(lo));
    return;
  }
  if constexpr (sizeof(V) == 32 && std::is_same_v<T, double>) {
    if (n == 4) return store(p, v);
    __m128d lo = _mm256_castpd256_pd128(v.data);
    if ((n & 2) != 0) {
      _mm_storeu_pd(p, lo);
      lo = _mm256_extractf128_pd(v.data, 1);
      p += 2;
    }
    if ((n & 1) != 0) _mm_store_sd(p, lo);
    return;
  }
#endif
  alignas(64) T t[V::size];
  v.store_aligned(t);
  for (index_t i = 0; i < n; ++i) p[i] = t[i];
}

/// load_n and store_n with the same n for many vectors. Where masks are registers, a single lane takes no branch. Use
/// load and store for whole vectors: with full masks transposes took up to 1.3 times as long.
template <class V> class first_lanes {
  using T = typename V::value_type;
#if defined(__AVX512F__)
  static constexpr bool in_registers = sizeof(V) == 64;
#else
  static constexpr bool in_registers = false;
#endif

public:
  explicit first_lanes(index_t n) : n_(in_registers ? (1u << n) - 1 : static_cast<unsigned>(n)) {}
  [[gnu::always_inline]] V load(const T* p) const {
    if constexpr (in_registers) return load_lanes<V>(p, n_);
    else return load_n<V>(p, n_);
  }
  [[gnu::always_inline]] void store(T* p, const V& v) const {
#if defined(__AVX512F__)
    if constexpr (in_registers && sizeof(T) == 4)
      return _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(n_), std::bit_cast<__m512i>(v.data));
    else if constexpr (in_registers)
      return _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(n_), std::bit_cast<__m512i>(v.data));
#endif
    store_n(p, v, n_);
  }

private:
  unsigned n_; // the mask of the lanes, or their number
};

/// (p[0], p[stride], p[2 stride], ...).
template <class V> [[gnu::always_inline]] inline V load_strided(const typename V::value_type* p,
                                                                index_t stride) {
  return pack<V>([=](int i) { return p[i * stride]; });
}
template <class V>
[[gnu::always_inline]] inline V load_strided_n(const typename V::value_type* p, index_t stride, index_t n) {
  alignas(64) typename V::value_type t[V::size] = {};
  for (index_t i = 0; i < n; ++i) t[i] = p[i * stride];
  return V::load_aligned(t);
}

/// to[j] = from[j] for j < n; the two do not overlap. It copies whole vectors, and the last one overlaps the one
/// before, so there is no tail. memmove takes three times as long for rows of a page or more that lie whole pages
/// apart.
template <class V, class T> [[gnu::always_inline]] inline void copy_row(T* to, const T* from, index_t n) {
  constexpr index_t W = static_cast<index_t>(V::size);
  if (n < W) {
    if (n > 0) store_n(to, load_n<V>(from, n), n);
    return;
  }
  for (index_t j = 0; j < n - W; j += W) store(to + j, load<V>(from + j));
  store(to + n - W, load<V>(from + n - W));
}

} // namespace tapeless::cpu
