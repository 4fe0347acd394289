// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Packed operands of a bf16 product. A packed lane has the size of a float. With AVX512_BF16 it holds two neighbours
// along k, and one instruction adds both products; that instruction takes numbers below 2^-126 for zero. On other
// machines it holds one widened element.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "../../core/bf16.hpp"
#include "../base/bf16.hpp" // IWYU pragma: export
#include "../base/transpose.hpp"
#include "micro.hpp"
#include "pack.hpp"

namespace tapeless::cpu {

/// A packed lane holds `depth` steps of k; an odd k ends with a zero.
///   along(p, n)            lanes: n contiguous steps of k from p[0] on
///   across(p, ld, n, k)    lanes: n rows; step d of row i at p[i + d * ld]; k steps are left
template <class V> struct widened_lanes {
  using lanes = V;
  static constexpr index_t depth = 1, W = static_cast<index_t>(V::size);
  static V along(const bf16* p, index_t k) { return k >= W ? load_bf16<V>(p) : load_bf16_n<V>(p, k); }
  static V across(const bf16* p, index_t, index_t n, index_t) { return along(p, n); }
};
#if defined(__AVX512BF16__) && defined(__AVX512BW__)
/// Lanes of float, whose products are of two bf16 each: fma(a, b, c) = c + a_1 b_1 + a_0 b_0.
struct pair_lanes : simd<float> {
  using simd<float>::batch;
  pair_lanes(const simd<float>& v) : simd<float>(v) {}
};
[[gnu::always_inline]] inline pair_lanes fma(const pair_lanes& a, const pair_lanes& b, const pair_lanes& c) {
  return simd<float>(
      _mm512_dpbf16_ps(c.data, std::bit_cast<__m512bh>(a.data), std::bit_cast<__m512bh>(b.data)));
}
/// Like fma: the sum of two products, not the product of two lanes.
[[gnu::always_inline]] inline pair_lanes operator*(const pair_lanes& a, const pair_lanes& b) {
  return fma(a, b, pair_lanes(simd<float>(0.0f)));
}
template <> inline constexpr index_t terms_of_step<pair_lanes> = 2;
struct paired_lanes {
  using lanes = pair_lanes;
  using V = simd<float>;
  static constexpr index_t depth = 2, W = 16;
  static V along(const bf16* p, index_t k) {
    const auto some = [](index_t n) { return n >= 32 ? ~__mmask32{0} : (__mmask32{1} << n) - 1; };
    return V(_mm512_castsi512_ps(k >= 32 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi16(some(k), p)));
  }
  static V across(const bf16* p, index_t ld, index_t n, index_t k) {
    const auto row = [&](const bf16* q) { return n >= W ? load_halves<V>(q) : load_halves_n<V>(q, n); };
    auto pair = row(p);
    if (k > 1) pair |= row(p + ld) << 16;
    return lanes_of_words<V>(pair);
  }
};
template <class V> using bf16_lanes = paired_lanes;
#else
template <class V> using bf16_lanes = widened_lanes<V>;
#endif

template <class L> constexpr index_t steps_of(index_t k) { return ceil_div(k, L::depth); }

/// Packs one step of k of R rows. n of them exist, the others are zero.   element (i, d) at p[i + d * ld]; k steps are
/// left
template <class L> [[gnu::always_inline]] inline void put_across(index_t n, index_t R, const bf16* p,
                                                                 index_t ld, index_t k, float* to) {
  using V = simd<float>;
  for (index_t i = 0; i < R; i += L::W) {
    const V v = i < n ? L::across(p + i, ld, std::min(L::W, n - i), k) : V(0.0f);
    if (R - i >= L::W) store(to + i, v);
    else store_n(to + i, v, R - i);
  }
}
/// Packs all steps of R rows. n of them exist, the others are zero. Step s of row i goes to to[s * R + i].
///   element (i, p) at from[i * ld + p]
template <class L> void put_along(index_t n, index_t R, index_t k, const bf16* from, index_t ld, float* to) {
  using V = simd<float>;
  constexpr index_t W = L::W;
  const index_t steps = steps_of<L>(k);
  for (index_t i = 0; i < R; i += W)
    for (index_t s = 0; s < steps; s += W) {
      const bf16* const p = from + i * ld + s * L::depth;
      V v[V::size];
      unroll<V::size>([&](auto r) __attribute__((always_inline)) {
        v[r] = i + r < n ? L::along(p + r * ld, k - s * L::depth) : V(0.0f);
      });
      transpose_lanes(v);
      unroll<V::size>([&](auto x) __attribute__((always_inline)) {
        if (s + x >= steps) return;
        float* const t = to + (s + x) * R + i;
        if (R - i >= W) store(t, v[x]);
        else store_n(t, v[x], R - i);
      });
    }
}

/// Packs (rows, k) of a as the blocks of row_blocks, steps_of(k) lanes a row.
template <class L> void pack_bf16_rows(index_t rows, index_t k, const matrix<bf16>& a, float* to) {
  constexpr int MR = blocking<typename L::lanes>::MR;
  const index_t steps = steps_of<L>(k);
  if (a.col == 1)
    return row_blocks<MR>(
        rows, [&](index_t i, index_t m) { put_along<L>(m, m, k, a.p + i * a.row, a.row, to + i * steps); });
  constexpr index_t ahead = 8;
  for (index_t s = 0; s < steps; ++s) { // line by line of a
    const index_t p = s * L::depth;
    if (p + ahead < k)
      for (index_t d = 0; d < L::depth; ++d)
        for (index_t x = 0; x < rows; x += 32) __builtin_prefetch(a.p + (p + ahead + d) * a.col + x);
    row_blocks<MR>(rows, [&](index_t i, index_t m) {
      put_across<L>(m, m, a.p + p * a.col + i, a.col, k - p, to + i * steps + s * m);
    });
  }
}
/// Packs (k, cols) of b as panels of NR columns, one after the other, with zeros after the last column.
template <class L> void pack_bf16_panels(index_t k, index_t cols, const matrix<bf16>& b, float* to) {
  constexpr index_t NR = blocking<typename L::lanes>::NR;
  const index_t steps = steps_of<L>(k);
  if (b.row == 1) {
    for (index_t j = 0; j < cols; j += NR)
      put_along<L>(std::min(NR, cols - j), NR, k, b.p + j * b.col, b.col, to + j * steps);
    return;
  }
  constexpr index_t together = 8 * NR; // few pages of `to` are in use at once
  for (index_t j0 = 0; j0 < cols; j0 += together)
    for (index_t s = 0; s < steps; ++s)
      for (index_t j = j0; j < std::min(cols, j0 + together); j += NR)
        put_across<L>(std::min(NR, cols - j), NR, b.p + s * L::depth * b.row + j, b.row, k - s * L::depth,
                      to + j * steps + s * NR);
}

} // namespace tapeless::cpu
