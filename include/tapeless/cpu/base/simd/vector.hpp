// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// simd<T> holds width<T> lanes of T. A vector type V is simd<float> or simd<double>. It comes with int_of<V>, which has
// the same number of lanes of the same size, and with mask_of<V>. Written against xsimd 8.1 to 14, GCC and clang.
#if !__has_include(<xsimd/xsimd.hpp>)
#error "tapeless: xsimd is not found: install xsimd 8.1 to 14 (Debian: libxsimd-dev), or name its folder"
#include <tapeless_stops_here>
#endif
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push // GCC 12 warns about its own _mm512_undefined_* (PR 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <xsimd/xsimd.hpp>
#pragma GCC diagnostic pop
#else
#include <xsimd/xsimd.hpp>
#endif
#if XSIMD_VERSION_MAJOR * 100 + XSIMD_VERSION_MINOR < 801 || XSIMD_VERSION_MAJOR > 14
#error "tapeless: the library is not tested with this xsimd: take 8.1 to 14"
#include <tapeless_stops_here>
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "index.hpp" // IWYU pragma: export

namespace tapeless::cpu {

template <class T> using simd = xsimd::batch<T>;
template <class T> inline constexpr int width = static_cast<int>(simd<T>::size);
template <class V> using mask_of = typename V::batch_bool_type;
template <class V>
using int_of = simd<std::conditional_t<sizeof(typename V::value_type) == 8, std::int64_t, std::int32_t>>;

using xsimd::fma;        // a * b + c; two roundings where the machine has no FMA
using xsimd::select;     // select(mask, a, b) = mask ? a : b, lane by lane
#if defined(__AVX512F__) // xsimd 8's are a product and a sum there, which clang does not contract
[[gnu::always_inline]] inline simd<float> fma(const simd<float>& a, const simd<float>& b,
                                              const simd<float>& c) {
  return _mm512_fmadd_ps(a.data, b.data, c.data);
}
[[gnu::always_inline]] inline simd<double> fma(const simd<double>& a, const simd<double>& b,
                                               const simd<double>& c) {
  return _mm512_fmadd_pd(a.data, b.data, c.data);
}
#endif

/// a * b + c of scalars. It is rounded once exactly where fma() of lanes is, whatever the compiler contracts.
template <class T> [[gnu::always_inline]] inline T fma_scalar(T a, T b, T c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  if constexpr (sizeof(T) == 4) return __builtin_fmaf(a, b, c);
  else return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// f(std::integral_constant<int, 0>) ... f(std::integral_constant<int, N - 1>).
template <int N, class F> [[gnu::always_inline]] inline void unroll(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

// The larger one of a and b, or the smaller one; b, or a NaN, if one of them is a NaN. Of xsimd's max and min the versions
// differ in that.
template <bool Max, class V> [[gnu::always_inline]] inline V extreme_or_second(const V& a, const V& b) {
  [[maybe_unused]] constexpr bool floats = sizeof(typename V::value_type) == 4;
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && floats)
    return Max ? _mm512_max_ps(a.data, b.data) : _mm512_min_ps(a.data, b.data);
  else if constexpr (sizeof(V) == 64)
    return Max ? _mm512_max_pd(a.data, b.data) : _mm512_min_pd(a.data, b.data);
  else
#endif
#if defined(__AVX__)
      if constexpr (sizeof(V) == 32 && floats)
    return Max ? _mm256_max_ps(a.data, b.data) : _mm256_min_ps(a.data, b.data);
  else if constexpr (sizeof(V) == 32)
    return Max ? _mm256_max_pd(a.data, b.data) : _mm256_min_pd(a.data, b.data);
  else
#endif
#if defined(__SSE2__)
      if constexpr (sizeof(V) == 16 && floats)
    return Max ? _mm_max_ps(a.data, b.data) : _mm_min_ps(a.data, b.data);
  else if constexpr (sizeof(V) == 16) return Max ? _mm_max_pd(a.data, b.data) : _mm_min_pd(a.data, b.data);
  else
#endif
    return Max ? xsimd::max(a, b) : xsimd::min(a, b);
}
/// max(a, b); b, or a NaN, if one of them is a NaN.
template <class V> [[gnu::always_inline]] inline V max_or_second(const V& a, const V& b) {
  return extreme_or_second<true>(a, b);
}
template <class V> [[gnu::always_inline]] inline V min_or_second(const V& a, const V& b) {
  return extreme_or_second<false>(a, b);
}
/// max(x, y), x of two equal ones. A NaN wins: if x is one, so is the maximum of y and x. So only y is tested, which no earlier step
/// of a reduction has to wait for.
template <class V> [[gnu::always_inline]] inline V nan_wins_max(const V& x, const V& y) {
  return select(y == y, max_or_second(y, x), y);
}

/// Pins v in a register. GCC otherwise repeats a load as the memory operand of every use. Pass local copies only: an
/// array element could no longer live in a register.
template <class V> [[gnu::always_inline]] inline void opaque(V& v) {
#if defined(__GNUC__) && defined(__AVX512F__)
  asm("" : "+v"(v.data));
#elif defined(__GNUC__) && defined(__SSE2__)
  asm("" : "+x"(v.data));
#else
  (void)v;
#endif
}

/// The same for an address or an index: the compiler derives neither it from others nor others from it.
template <class T> [[gnu::always_inline]] inline void opaque_scalar(T& p) {
#if defined(__GNUC__)
  asm("" : "+r"(p));
#else
  (void)p;
#endif
}

// (f(0), f(1), ..., f(W - 1)), made in registers
template <class V, class F> [[gnu::always_inline]] inline V pack(F f) {
  return [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    return V{static_cast<typename V::value_type>(f(I))...};
  }(std::make_integer_sequence<int, static_cast<int>(V::size)>{});
}

template <class T, int N> struct vector_of {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};

// Converts N lanes of From to lanes of To. R and Result are trivially copyable types of the right size.
template <class From, class To, int N, class Result, class R>
[[gnu::always_inline]] inline Result convert(const R& r) {
  typename vector_of<From, N>::type from;
  static_assert(sizeof(from) == sizeof(R));
  std::memcpy(&from, &r, sizeof from);
  const typename vector_of<To, N>::type to = __builtin_convertvector(from, typename vector_of<To, N>::type);
  static_assert(sizeof(to) == sizeof(Result));
  Result result;
  std::memcpy(&result, &to, sizeof to);
  return result;
}

template <class T, int N> struct block {
  T lane[N];
};

/// (0, 1, ..., W - 1).
template <class V> [[gnu::always_inline]] inline V iota() {
  return pack<V>([](int i) { return i; });
}

/// True in the first n lanes. V is any simd<T>.
template <class V> [[gnu::always_inline]] inline mask_of<V> lane_mask(index_t n) {
  return iota<V>() < V(static_cast<typename V::value_type>(n));
}

// Adds the lower and the upper half of the lanes, until one value is left.
template <class Lanes, int... I>
[[gnu::always_inline]] inline auto add_halves(const Lanes& v, std::integer_sequence<int, I...>) {
  constexpr int half = sizeof...(I);
  if constexpr (half == 1) return v[0] + v[1];
  else {
    const auto r = __builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (half + I)...);
    return add_halves(r, std::make_integer_sequence<int, half / 2>{});
  }
}
/// Sum of the lanes, in a fixed order for a given width.
template <class T> [[gnu::always_inline]] inline T hsum(const simd<T>& v) {
  typename vector_of<T, width<T>>::type lanes;
  std::memcpy(&lanes, &v.data, sizeof lanes);
  return add_halves(lanes, std::make_integer_sequence<int, width<T> / 2>{});
}

// add_neighbours adds neighbouring groups of U lanes within each Q lanes of a, then of b; both have W lanes.
// neighbour() is the lane that the first (second == 0) or the second group of a pair gives to lane i of the result.
template <int U, int Q, int W> constexpr int neighbour(int i, int second) {
  constexpr int half = Q / U / 2;
  const int group = i % Q / U;
  return (group < half ? 0 : W) + i / Q * Q + (2 * (group % half) + second) * U + i % U;
}
template <int U, int Q, class V, int... I>
[[gnu::always_inline]] inline V add_neighbours(const V& a, const V& b, std::integer_sequence<int, I...>) {
  return V(__builtin_shufflevector(a.data, b.data, neighbour<U, Q, sizeof...(I)>(I, 0)...)) +
         V(__builtin_shufflevector(a.data, b.data, neighbour<U, Q, sizeof...(I)>(I, 1)...));
}
// A round leaves N vectors; the first leaves W / 2. The first rounds add within 16 bytes, where shuffles are cheap,
// the later ones across the whole vector.
template <int N, class V> [[gnu::always_inline]] inline void add_rounds(V (&v)[V::size]) {
  constexpr int W = static_cast<int>(V::size), L = 16 / static_cast<int>(sizeof(typename V::value_type));
  constexpr bool within = W / N <= L;
  unroll<N>([&](auto i) __attribute__((always_inline)) {
    v[i] = add_neighbours<within ? 1 : L, within ? L : W>(v[2 * i], v[2 * i + 1],
                                                          std::make_integer_sequence<int, W>{});
  });
  if constexpr (N > 1) add_rounds<N / 2>(v);
}

/// Lane i of the result is the sum of the lanes of v[i], i in [0, W). v is overwritten.
template <class V> [[gnu::always_inline]] inline V hsum_each(V (&v)[V::size]) {
  add_rounds<static_cast<int>(V::size) / 2>(v);
  return v[0];
}

} // namespace tapeless::cpu
