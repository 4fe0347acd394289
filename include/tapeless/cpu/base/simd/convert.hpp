// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Lanes of integers and masks: load and store them, convert them to and from lanes of real numbers.
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "memory.hpp"
#include "vector.hpp"

namespace tapeless::cpu {

/// W 32-bit integers in memory as int_of<V>. V is simd<float> or simd<double>.
template <class V> [[gnu::always_inline]] inline int_of<V> load_int(const std::int32_t* p) {
  constexpr int W = static_cast<int>(V::size);
  using I = typename int_of<V>::value_type;
  if constexpr (sizeof(I) == 4) return load<int_of<V>>(p);
  else {
    block<std::int32_t, W> b;
    std::memcpy(&b, p, sizeof b);
    return int_of<V>(convert<std::int32_t, I, W, typename int_of<V>::register_type>(b));
  }
}
template <class V> [[gnu::always_inline]] inline int_of<V> load_int_n(const std::int32_t* p, index_t n) {
  if constexpr (sizeof(typename V::value_type) == 4) return load_n<int_of<V>>(p, n);
  else {
    std::int32_t t[V::size] = {};
    for (index_t i = 0; i < n; ++i) t[i] = p[i];
    return load_int<V>(t);
  }
}

/// The lanes as W 32-bit integers; a 64-bit lane must hold a value of 32 bits.
template <class I> [[gnu::always_inline]] inline void store_int(std::int32_t* p, const simd<I>& v) {
  if constexpr (sizeof(I) == 4) store(p, v);
  else {
    using block = block<std::int32_t, width<I>>;
    const block b = convert<I, std::int32_t, width<I>, block>(v.data);
    std::memcpy(p, &b, sizeof b);
  }
}
template <class I> [[gnu::always_inline]] inline void store_int_n(std::int32_t* p, const simd<I>& v,
                                                                  index_t n) {
  if constexpr (sizeof(I) == 4) store_n(p, v, n);
  else {
    std::int32_t t[width<I>];
    store_int(t, v);
    for (index_t i = 0; i < n; ++i) p[i] = t[i];
  }
}

/// int_of<V> to V. Every lane must hold a value of 32 bits.
template <class V> [[gnu::always_inline]] inline V int_to_float(const int_of<V>& v) {
  using T = typename V::value_type;
  using I = typename int_of<V>::value_type;
  constexpr int W = static_cast<int>(V::size);
  using half = block<std::int32_t, W>;
  const half h = convert<I, std::int32_t, W, half>(v.data);
  return V(convert<std::int32_t, T, W, typename V::register_type>(h));
}
/// The same mask for lanes of another type of the same size: between masks of int_of<V> and of V.
template <class To, class From>
[[gnu::always_inline]] inline mask_of<simd<To>> mask_cast(const xsimd::batch_bool<From>& m) {
  static_assert(sizeof(To) == sizeof(From));
  if constexpr (std::is_same_v<To, From>) return m;
#if XSIMD_VERSION_MAJOR >= 9
  else return xsimd::batch_bool_cast<To>(m);
#else
  else return xsimd::bool_cast(m);
#endif
}

/// select() of integers, on lanes of real numbers: xsimd 8's own for AVX-512 does not compile without optimisation.
template <class I, class A>
  requires std::is_same_v<I, std::int32_t> || std::is_same_v<I, std::int64_t>
[[gnu::always_inline]] inline xsimd::batch<I, A> select(const xsimd::batch_bool<I, A>& mask,
                                                        const xsimd::batch<I, A>& a,
                                                        const xsimd::batch<I, A>& b) {
  using F = simd<std::conditional_t<sizeof(I) == 8, double, float>>;
  const auto real = [](const auto& v) { return F(std::bit_cast<typename F::register_type>(v.data)); };
  const F r = select(mask_cast<typename F::value_type>(mask), real(a), real(b));
  return {std::bit_cast<typename xsimd::batch<I, A>::register_type>(r.data)};
}

/// V to int_of<V>, toward zero; beyond the range of 32 bits the nearest number within it, of NaN 0.
template <class V> [[gnu::always_inline]] inline int_of<V> float_to_int(const V& v) {
  using T = typename V::value_type;
  using I = typename int_of<V>::value_type;
  constexpr int W = static_cast<int>(V::size);
  using half = block<std::int32_t, W>;
  const V end(T(0x1p31)), zero(T(0));
  const auto above = v >= end, below = v < -end;
  const V within = select(above | below | !(v == v), zero, v);
  const half h = convert<T, std::int32_t, W, half>(within.data);
  const int_of<V> r(convert<std::int32_t, I, W, typename int_of<V>::register_type>(h));
  return select(mask_cast<I>(above), int_of<V>(I(0x7fffffff)),
                select(mask_cast<I>(below), int_of<V>(I(-0x7fffffff - 1)), r));
}

/// W floats in memory as doubles, and back. V is simd<double>.
template <class V> [[gnu::always_inline]] inline V load_floats(const float* p) {
  constexpr int W = static_cast<int>(V::size);
  block<float, W> b;
  std::memcpy(&b, p, sizeof b);
  return V(convert<float, double, W, typename V::register_type>(b));
}
template <class V> [[gnu::always_inline]] inline V load_floats_n(const float* p, index_t stride, index_t n) {
  float t[V::size] = {};
  for (index_t i = 0; i < n; ++i) t[i] = p[i * stride];
  return load_floats<V>(t);
}
template <class V> [[gnu::always_inline]] inline void store_floats(float* p, const V& v) {
  constexpr int W = static_cast<int>(V::size);
  using floats = block<float, W>;
  const floats b = convert<double, float, W, floats>(v.data);
  std::memcpy(p, &b, sizeof b);
}
template <class V> [[gnu::always_inline]] inline void store_floats_n(float* p, const V& v, index_t n) {
  float t[V::size];
  store_floats(t, v);
  for (index_t i = 0; i < n; ++i) p[i] = t[i];
}
/// Each lane rounded to a float.
template <class V> [[gnu::always_inline]] inline V round_to_floats(const V& v) {
  float t[V::size];
  store_floats(t, v);
  return load_floats<V>(t);
}

/// W bytes in memory as integers of 0 to 255, or n of them, `stride` apart, and zeros. store_byte writes such lanes.
/// Instructions are named: g++ 12 converts vectors of bytes lane by lane.
template <class V> [[gnu::always_inline]] inline int_of<V> load_byte(const std::uint8_t* p) {
  constexpr int W = static_cast<int>(V::size);
  using I = typename int_of<V>::value_type;
#if defined(__AVX512F__)
  if constexpr (W * sizeof(I) == 64 && W == 16)
    return int_of<V>(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  if constexpr (W * sizeof(I) == 64 && W == 8)
    return int_of<V>(_mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#endif
#if defined(__AVX2__)
  if constexpr (W * sizeof(I) == 32 && W == 8)
    return int_of<V>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#endif
  block<std::uint8_t, W> b;
  std::memcpy(&b, p, sizeof b);
  return int_of<V>(convert<std::uint8_t, I, W, typename int_of<V>::register_type>(b));
}
template <class V> [[gnu::always_inline]] inline int_of<V> load_byte_n(const std::uint8_t* p, index_t stride,
                                                                       index_t n) {
  std::uint8_t t[V::size] = {};
  for (index_t i = 0; i < n; ++i) t[i] = p[i * stride];
  return load_byte<V>(t);
}
template <class I> [[gnu::always_inline]] inline void store_byte(std::uint8_t* p, const simd<I>& v) {
#if defined(__AVX512F__)
  if constexpr (sizeof v == 64 && sizeof(I) == 4)
    return _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v.data));
  if constexpr (sizeof v == 64 && sizeof(I) == 8)
    return _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm512_cvtepi64_epi8(v.data));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof v == 32 && sizeof(I) == 4) {
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(v.data), _mm256_extracti128_si256(v.data, 1));
    return _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
  }
#endif
  using block = block<std::uint8_t, width<I>>;
  const block b = convert<I, std::uint8_t, width<I>, block>(v.data);
  std::memcpy(p, &b, sizeof b);
}
template <class I> [[gnu::always_inline]] inline void store_byte_n(std::uint8_t* p, const simd<I>& v,
                                                                   index_t n) {
  std::uint8_t t[width<I>];
  store_byte(t, v);
  for (index_t i = 0; i < n; ++i) p[i] = t[i];
}

/// W bools in memory as a mask of V: every byte but 0 is true. store_bool writes 0 and 1.
template <class V> [[gnu::always_inline]] inline mask_of<V> load_bool(const std::uint8_t* p) {
  using I = typename int_of<V>::value_type;
  return mask_cast<typename V::value_type>(load_byte<V>(p) != int_of<V>(I(0)));
}
template <class V> [[gnu::always_inline]] inline mask_of<V> load_bool_n(const std::uint8_t* p, index_t n) {
  std::uint8_t t[V::size] = {};
  for (index_t i = 0; i < n; ++i) t[i] = p[i];
  return load_bool<V>(t);
}
template <class T> [[gnu::always_inline]] inline void store_bool(bool* p, const xsimd::batch_bool<T>& m) {
  using I = typename int_of<simd<T>>::value_type;
  store_byte(reinterpret_cast<std::uint8_t*>(p), select(mask_cast<I>(m), simd<I>(I(1)), simd<I>(I(0))));
}
template <class T> [[gnu::always_inline]] inline void store_bool_n(bool* p, const xsimd::batch_bool<T>& m,
                                                                   index_t n) {
  bool t[width<T>];
  store_bool(t, m);
  for (index_t i = 0; i < n; ++i) p[i] = t[i];
}

} // namespace tapeless::cpu
