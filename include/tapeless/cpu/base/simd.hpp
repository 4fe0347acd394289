// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// simd<T> holds width<T> lanes of T; every other file of cpu/ sees SIMD only through the functions below.
// A group of lanes V = simd<float> or simd<double> comes with int_of<V> (same number of lanes, of the same
// size) and mask_of<V>. The suffix _n means: the first n lanes, 0 <= n <= width; memory beyond is neither
// read nor written, and lanes beyond are zero. Written against xsimd 8.1 to 14, GCC and clang.
#if !__has_include(<xsimd/xsimd.hpp>)
#error "tapeless: xsimd is not found: install xsimd 8.1 to 14 (Debian: libxsimd-dev), or name its folder"
#include <tapeless_stops_here>
#endif
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push // GCC 12 takes its own _mm512_undefined_* for a mistake (PR 105593)
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

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace tapeless::cpu {

using index_t = std::int64_t;

template <class T> using simd = xsimd::batch<T>;
template <class T> inline constexpr int width = static_cast<int>(simd<T>::size);
template <class V> using mask_of = typename V::batch_bool_type;
template <class V>
using int_of = simd<std::conditional_t<sizeof(typename V::value_type) == 8, std::int64_t, std::int32_t>>;

using xsimd::fma;    // a * b + c; two roundings where the machine has no FMA
using xsimd::select; // select(mask, a, b) = mask ? a : b, lane by lane

/// f(std::integral_constant<int, 0>) ... f(std::integral_constant<int, N - 1>).
template <int N, class F> [[gnu::always_inline]] inline void unroll(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

/// Pins v in a register: GCC otherwise repeats a load as the memory operand of every use. For local copies
/// only; an array element passed here could no longer live in a register.
template <class V> [[gnu::always_inline]] inline void opaque(V& v) {
#if defined(__GNUC__) && defined(__AVX512F__)
  asm("" : "+v"(v.data));
#elif defined(__GNUC__) && defined(__SSE2__)
  asm("" : "+x"(v.data));
#else
  (void)v;
#endif
}

/// The same for an address or an index: the compiler makes no others of it, and does not make it of others.
template <class T> [[gnu::always_inline]] inline void opaque_scalar(T& p) {
#if defined(__GNUC__)
  asm("" : "+r"(p));
#else
  (void)p;
#endif
}

// (f(0), f(1), ..., f(W - 1)) without a way through memory
template <class V, class F> [[gnu::always_inline]] inline V pack(F f) {
  return [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    return V{static_cast<typename V::value_type>(f(I))...};
  }(std::make_integer_sequence<int, static_cast<int>(V::size)>{});
}

template <class T, int N> struct vector_of {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};

// lanes of From to lanes of To, one to one; R and Result are trivially copyable types of the right size
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

// op of the lower half of the lanes and the upper half, until two lanes are left
template <class Lanes, class F, int... I>
[[gnu::always_inline]] inline auto halve(const Lanes& v, F op, std::integer_sequence<int, I...>) {
  constexpr int half = sizeof...(I);
  if constexpr (half == 1) return op(v[0], v[1]);
  else {
    const auto r = op(__builtin_shufflevector(v, v, I...), __builtin_shufflevector(v, v, (half + I)...));
    return halve(r, op, std::make_integer_sequence<int, half / 2>{});
  }
}
template <class T, class F> [[gnu::always_inline]] inline T halve(const simd<T>& v, F op) {
  typename vector_of<T, width<T>>::type lanes;
  std::memcpy(&lanes, &v.data, sizeof lanes);
  return halve(lanes, op, std::make_integer_sequence<int, width<T> / 2>{});
}

/// (0, 1, ..., W - 1).
template <class V> [[gnu::always_inline]] inline V iota() {
  return pack<V>([](int i) { return i; });
}

/// True in the first n lanes. V is any simd<T>.
template <class V> [[gnu::always_inline]] inline mask_of<V> lane_mask(index_t n) {
  return iota<V>() < V(static_cast<typename V::value_type>(n));
}

#if defined(__AVX512F__)
/// first + l for the lanes l of 16 at p that are not 0 (Zeros: are), side by side to `out`; returns how many there are.
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

/// A result of so many bytes is gone from the caches before anybody reads it.
inline constexpr index_t larger_than_caches = 1 << 25;
/// store() of whole lines that are not read soon: past the caches, where the machine can.   @pre p is aligned to V
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
/// Orders what store_past_caches has written before all that follows.
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
    if constexpr (std::is_same_v<T, float>) // a masked load waits for a store of one lane
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
  // halves of what is left: the masked stores of AVX2 are microcode on AMD's machines
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

/// load_n and store_n of one n for many vectors: where masks are registers, without a branch for a single lane. Where most
/// vectors are whole ones they want load and store: under a full mask transposes took up to 1.3 times as long.
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
  unsigned n_; // their bits, or how many
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

/// (p[at[0]], p[at[1]], ...).
template <class V> [[gnu::always_inline]] inline V gather(const typename V::value_type* p,
                                                          const std::int32_t* at) {
  return pack<V>([=](int i) { return p[at[i]]; });
}
template <class V>
[[gnu::always_inline]] inline V gather_n(const typename V::value_type* p, const std::int32_t* at, index_t n) {
  alignas(64) typename V::value_type t[V::size] = {};
  for (index_t i = 0; i < n; ++i) t[i] = p[at[i]];
  return V::load_aligned(t);
}

/// Sum of the lanes, in a fixed order for a given width.
template <class T> [[gnu::always_inline]] inline T hsum(const simd<T>& v) {
  return halve<T>(v, [](const auto& a, const auto& b) { return a + b; });
}

// Of each Q lanes of a and b, W each: which lane is added up in lane i, the first or the second of two neighbours.
// Neighbours are groups of U lanes; those of a come first, then those of b.
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
// N vectors are left by a round, W / 2 by the first; within 16 bytes first, where shuffles are cheap, then whole ones
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

/// a * b + c of scalars: rounded once exactly where fma() of lanes is, whatever the compiler contracts elsewhere.
template <class T> [[gnu::always_inline]] inline T fma_scalar(T a, T b, T c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  if constexpr (sizeof(T) == 4) return __builtin_fmaf(a, b, c);
  else return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// Largest and smallest lane; which lane wins is unspecified where one is a NaN.
template <class T> [[gnu::always_inline]] inline T hmax(const simd<T>& v) {
  return halve<T>(v, [](const auto& a, const auto& b) { return a < b ? b : a; });
}
template <class T> [[gnu::always_inline]] inline T hmin(const simd<T>& v) {
  return halve<T>(v, [](const auto& a, const auto& b) { return b < a ? b : a; });
}

/// W 32-bit integers of memory as int_of<V>; V = simd<float> or simd<double>.
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
/// V to int_of<V>, toward zero. Every lane must lie within the range of 32 bits.
template <class V> [[gnu::always_inline]] inline int_of<V> float_to_int(const V& v) {
  using T = typename V::value_type;
  using I = typename int_of<V>::value_type;
  constexpr int W = static_cast<int>(V::size);
  using half = block<std::int32_t, W>;
  const half h = convert<T, std::int32_t, W, half>(v.data);
  return int_of<V>(convert<std::int32_t, I, W, typename int_of<V>::register_type>(h));
}

/// to[j] = from[j], j < n; they do not overlap. Whole vectors, the last of which overlaps the one before in place of a tail:
/// no call, and memmove takes three times as long for rows of a page and more that lie to each other as pages do.
template <class V, class T> [[gnu::always_inline]] inline void copy_row(T* to, const T* from, index_t n) {
  constexpr index_t W = static_cast<index_t>(V::size);
  if (n < W) {
    if (n > 0) store_n(to, load_n<V>(from, n), n);
    return;
  }
  for (index_t j = 0; j < n - W; j += W) store(to + j, load<V>(from + j));
  store(to + n - W, load<V>(from + n - W));
}

/// The same truth in lanes of another type of the same size: masks of int_of<V> to masks of V and back.
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

/// select() of integers, as lanes of real numbers: that of xsimd 8 for AVX-512 does not compile without optimisation.
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

/// W bools of memory, as bytes of which any but 0 is true, as a mask of V; and back, as 0 and 1.
template <class V> [[gnu::always_inline]] inline mask_of<V> load_bool(const std::uint8_t* p) {
  constexpr int W = static_cast<int>(V::size);
  using I = typename int_of<V>::value_type;
  block<std::uint8_t, W> b;
  std::memcpy(&b, p, sizeof b);
  const int_of<V> v(convert<std::uint8_t, I, W, typename int_of<V>::register_type>(b));
  return mask_cast<typename V::value_type>(v != int_of<V>(I(0)));
}
template <class V> [[gnu::always_inline]] inline mask_of<V> load_bool_n(const std::uint8_t* p, index_t n) {
  std::uint8_t t[V::size] = {};
  for (index_t i = 0; i < n; ++i) t[i] = p[i];
  return load_bool<V>(t);
}
template <class T> [[gnu::always_inline]] inline void store_bool(bool* p, const xsimd::batch_bool<T>& m) {
  using I = typename int_of<simd<T>>::value_type;
  using block = block<std::uint8_t, width<T>>;
  const simd<I> v = select(mask_cast<I>(m), simd<I>(I(1)), simd<I>(I(0)));
  const block b = convert<I, std::uint8_t, width<T>, block>(v.data);
  std::memcpy(p, &b, sizeof b);
}
template <class T> [[gnu::always_inline]] inline void store_bool_n(bool* p, const xsimd::batch_bool<T>& m,
                                                                   index_t n) {
  bool t[width<T>];
  store_bool(t, m);
  for (index_t i = 0; i < n; ++i) p[i] = t[i];
}

} // namespace tapeless::cpu
