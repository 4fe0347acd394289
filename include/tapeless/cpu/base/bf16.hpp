// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Lanes of bf16: two bytes in memory, a float in a register. Roundings are those of bf16(x) on every machine, also
// below 2^-126.
#include "../../core/bf16.hpp"
#include "simd.hpp"

namespace tapeless::cpu {
template <class V>
using words_of = typename vector_of<std::uint32_t, static_cast<int>(V::size)>::type; // as many as V has lanes
template <class V> using halves_of = typename vector_of<std::uint16_t, static_cast<int>(V::size)>::type;

template <class V> [[gnu::always_inline]] inline V lanes_of_words(const words_of<V>& w) {
  typename V::register_type r;
  static_assert(sizeof r == sizeof w);
  std::memcpy(&r, &w, sizeof r);
  return V(r);
}
template <class V> [[gnu::always_inline]] inline words_of<V> words_of_lanes(const V& v) {
  words_of<V> w;
  std::memcpy(&w, &v.data, sizeof w);
  return w;
}
// p[0 .. W), or the first n and zeros, each in the lower half of a word
template <class V> [[gnu::always_inline]] inline words_of<V> load_halves(const bf16* p) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64)
    return std::bit_cast<words_of<V>>(
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#endif
  halves_of<V> h;
  std::memcpy(&h, p, sizeof h);
  return __builtin_convertvector(h, words_of<V>);
}
template <class V> [[gnu::always_inline]] inline words_of<V> load_halves_n(const bf16* p, index_t n) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  if constexpr (sizeof(V) == 64) {
    const __m256i h = _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1), p);
    return std::bit_cast<words_of<V>>(_mm512_cvtepu16_epi32(h));
  }
#endif
  bf16 t[V::size];
  for (index_t i = 0; i < n; ++i) t[i] = p[i];
  return load_halves<V>(t);
}

/// V = simd<float>. p[0 .. W), exact.
template <class V> [[gnu::always_inline]] inline V load_bf16(const bf16* p) {
  return lanes_of_words<V>(load_halves<V>(p) << 16);
}
template <class V> [[gnu::always_inline]] inline V load_bf16_n(const bf16* p, index_t n) {
  return lanes_of_words<V>(load_halves_n<V>(p, n) << 16);
}
template <class V> [[gnu::always_inline]] inline V load_bf16_strided(const bf16* p, index_t stride,
                                                                     index_t n) {
  bf16 t[V::size];
  for (index_t i = 0; i < n; ++i) t[i] = p[i * stride];
  return load_bf16<V>(t);
}
/// float(bf16(x)), lane by lane.
template <class V> [[gnu::always_inline]] inline V round_to_bf16(const V& x) {
  const auto u = words_of_lanes(x);
  const auto nan = words_of<V>((u & 0x7fffffffu) > 0x7f800000u);
  const auto rounded = u + 0x7fffu + (u >> 16 & 1u), quiet = u | 0x400000u;
  return lanes_of_words<V>(((nan & quiet) | (~nan & rounded)) & 0xffff0000u);
}
/// @pre every lane is float(y) of a bf16 y
template <class V> [[gnu::always_inline]] inline void store_bf16(bf16* p, const V& v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64)
    return _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                               _mm512_cvtepi32_epi16(std::bit_cast<__m512i>(words_of_lanes(v) >> 16)));
#endif
  const auto h = __builtin_convertvector(words_of_lanes(v) >> 16, halves_of<V>);
  std::memcpy(static_cast<void*>(p), &h, sizeof h);
}
template <class V> [[gnu::always_inline]] inline void store_bf16_n(bf16* p, const V& v, index_t n) {
  bf16 t[V::size];
  store_bf16(t, v);
  for (index_t i = 0; i < n; ++i) p[i] = t[i];
}

} // namespace tapeless::cpu
