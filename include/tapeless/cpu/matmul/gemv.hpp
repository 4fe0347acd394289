// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// One row of C: a row of A times B, where B lies in rows (row_times_matrix) or in columns (row_of_dots). And the outer
// product, k == 1.
#include <algorithm>

#include "pack.hpp"

namespace tapeless::cpu {

/// NV vectors of c[j] (+)= sum_p a[p * a_step] * b[p * b_row + j]; the last one has n lanes if it is not whole
template <class V, int NV, bool Whole, class T>
[[gnu::always_inline]] inline void row_panel(index_t k, const T* a, index_t a_step, const T* b, index_t b_row,
                                             T* c, index_t n, bool add) {
  constexpr int W = static_cast<int>(V::size);
  const first_lanes<V> lanes(n);
  const auto at = [&](const T* p, int j) __attribute__((always_inline)) {
    return Whole || j < NV - 1 ? load<V>(p + j * W) : lanes.load(p + j * W);
  };
  V sum[NV];
#pragma GCC unroll 8
  for (int j = 0; j < NV; ++j) sum[j] = V(T(0));
  for (; k > 0; --k, a += a_step, b += b_row) {
    const V x(*a);
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) sum[j] = fma(x, at(b, j), sum[j]);
  }
  if (add) // a test of its own: g++ -O0 warns that it ignores the pragma of a loop with two
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) sum[j] = at(c, j) + sum[j];
#pragma GCC unroll 8
  for (int j = 0; j < NV; ++j)
    if (Whole || j < NV - 1) store(c + j * W, sum[j]);
    else lanes.store(c + j * W, sum[j]);
}
/// c[j] = sum_p a[p * a_step] * b[p * b_row + j], added to c[j] with add, `together` steps of p at a time, in order
template <class V, class T> void rows_in_order(index_t n, index_t k, const T* a, index_t a_step, const T* b,
                                               index_t b_row, T* c, bool add, index_t together) {
  constexpr index_t W = blocking<V>::W;
  for (index_t p = 0; p < k; p += together, a += together * a_step, b += together * b_row) {
    const index_t kb = std::min(together, k - p);
    const bool adds = add || p > 0;
    index_t j = 0;
    for (; j + 8 * W <= n; j += 8 * W) row_panel<V, 8, true>(kb, a, a_step, b + j, b_row, c + j, W, adds);
    for (; j + 4 * W <= n; j += 4 * W) row_panel<V, 4, true>(kb, a, a_step, b + j, b_row, c + j, W, adds);
    if (j == n) continue;
    const index_t vectors = ceil_div(n - j, W), last = n - j - (vectors - 1) * W;
    unroll<4>([&](auto v) __attribute__((always_inline)) {
      constexpr int NV = v.value + 1;
      if (vectors != NV) return;
      if (NV < 4 && last == W) row_panel<V, NV, true>(kb, a, a_step, b + j, b_row, c + j, W, adds);
      else row_panel<V, NV, false>(kb, a, a_step, b + j, b_row, c + j, last, adds);
    });
  }
}
/// c[j] = sum_p a[p * a_step] * b[p * b_row + j], added to c[j] with add
template <class V, class T> void row_times_matrix(index_t n, index_t k, const T* a, index_t a_step,
                                                  const T* b, index_t b_row, T* c, bool add = false) {
  // this many rows at a time, so that few pages of b are in use
  const index_t together = b_row * static_cast<index_t>(sizeof(T)) < 4096 ? chain_terms : 8;
  const index_t deep = blocks_in_order * together;
  if (k <= (add ? together : deep)) return rows_in_order<V>(n, k, a, a_step, b, b_row, c, add, together);
  constexpr index_t sweep = 4096 / static_cast<index_t>(sizeof(T)); // a page
  T block[sweep], sum[sweep], lost[sweep];
  for (index_t j = 0; j < n; j += sweep) {
    const index_t wide = std::min(sweep, n - j);
    for (index_t p = 0; p < k; p += deep) {
      rows_in_order<V>(wide, std::min(deep, k - p), a + p * a_step, a_step, b + p * b_row + j, b_row,
                       p == 0 ? sum : block, false, together);
      if (p > 0) add_block<V>(wide, block, sum, lost, p == deep);
    }
    if (k > deep) end_sums<V>(wide, sum, lost);
    for (index_t i = 0; i < wide; ++i) c[j + i] = add ? c[j + i] + sum[i] : sum[i];
  }
}

/// sum[r] = partial sums, lane by lane, of a[p] * b[r * b_row + p] over p; U vectors of p at a time
template <class V, int R, int U, class T>
[[gnu::always_inline]] inline void dots(V (&sum)[R], index_t k, const T* a, const T* b, index_t b_row) {
  constexpr index_t W = blocking<V>::W;
  V acc[R][U];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int u = 0; u < U; ++u) acc[r][u] = V(T(0));
  chain_sums<V, R, U> sums;
  index_t p = 0;
  in_chains(k / (U * W), chain_terms, acc, sums,
            [&](index_t step, index_t end) __attribute__((always_inline)) {
              for (; step < end; ++step, p += U * W)
#pragma GCC unroll 16
                for (int u = 0; u < U; ++u) {
                  V x = load<V>(a + p + u * W);
                  opaque(x);
#pragma GCC unroll 16
                  for (int r = 0; r < R; ++r)
                    acc[r][u] = fma(x, load<V>(b + r * b_row + p + u * W), acc[r][u]);
                }
            });
  sums.finish(acc);
  for (; p < k; p += W) {
    const first_lanes<V> lanes(std::min(W, k - p));
    const V x = lanes.load(a + p);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) acc[r][0] = fma(x, lanes.load(b + r * b_row + p), acc[r][0]);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int u = 1; u < U; ++u) acc[r][0] += acc[r][u];
    sum[r] = acc[r][0];
  }
}

/// c[j] = sum_p a[p] * b[j * b_row + p], added to c[j] with add
template <class V, class T> [[gnu::noinline]] void row_of_dots(index_t n, index_t k, const T* a, const T* b,
                                                               index_t b_row, T* c, bool add = false) {
  constexpr int W = static_cast<int>(V::size), U = W < 8 ? 8 / W : 1;
  // lines a multiple of half a page apart share sets of a cache: it keeps 8 of them
  const bool crowded = W > 8 && b_row * static_cast<index_t>(sizeof(T)) % 2048 == 0;
  index_t j = 0;
  for (; j + W <= n; j += W) {
    V sum[W];
    const T* const rows = b + j * b_row;
    if constexpr (W > 8) {
      constexpr int H = W / 2;
      V half[H];
      for (int r = 0; crowded && r < W; r += H) {
        dots<V, H, U>(half, k, a, rows + r * b_row, b_row);
        for (int x = 0; x < H; ++x) sum[r + x] = half[x];
      }
    }
    if (!crowded) dots<V, W, U>(sum, k, a, rows, b_row);
    V each = hsum_each(sum);
    if (add) each = each + load<V>(c + j);
    store(c + j, each);
  }
  for (T* to = c + j; j < n; ++j, ++to) {
    V sum[1];
    dots<V, 1, 8>(sum, k, a, b + j * b_row, b_row);
    const T dot = hsum(sum[0]);
    *to = add ? *to + dot : dot;
  }
}

/// c[i * c_row + j] = a[i * a_row] * b[j]
template <class V, class T> [[gnu::noinline]] void outer_product(index_t m, index_t n, const T* a,
                                                                 index_t a_row, const T* b, T* c,
                                                                 index_t c_row) {
  constexpr index_t W = blocking<V>::W;
  for (index_t i = 0; i < m; ++i, a += a_row, c += c_row) {
    const V x(*a);
    index_t j = 0;
    for (; j + 4 * W <= n; j += 4 * W)
      unroll<4>([&](auto u)
                    __attribute__((always_inline)) { store(c + j + u * W, x * load<V>(b + j + u * W)); });
    for (; j + W <= n; j += W) store(c + j, x * load<V>(b + j));
    if (j < n) store_n(c + j, x * load_n<V>(b + j, n - j), n - j);
  }
}

} // namespace tapeless::cpu
