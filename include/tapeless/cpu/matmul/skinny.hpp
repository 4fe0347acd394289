// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Products with few rows (few_rows) or few columns (few_columns) of C, without packed panels of both operands.
#include <algorithm>

#include "gemv.hpp"
#include "tile.hpp"

namespace tapeless::cpu {

/// The number of sums in registers, a vector each.
template <class V> inline constexpr int dots_at_once = sizeof(V) == 64 ? 16 : 8;
/// Dot products of up to M rows of a with up to dots_at_once / M rows of b. The order of each sum does not depend on
/// its place.
template <class V, int M, class T>
[[gnu::noinline]] void block_of_dots(index_t rows, index_t cols, index_t k, const T* a, index_t a_row,
                                     const T* b, index_t b_row, T* c, index_t c_row, bool add) {
  constexpr int W = static_cast<int>(V::size), S = dots_at_once<V>, R = S / M;
  const T *as[M], *bs[R];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) as[i] = a + std::min<index_t>(i, rows - 1) * a_row;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) bs[r] = b + std::min<index_t>(r, cols - 1) * b_row;
  V acc[1][S];
#pragma GCC unroll 16
  for (int s = 0; s < S; ++s) acc[0][s] = V(T(0));
  const auto step = [&](auto at) __attribute__((always_inline)) {
    V x[M];
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) x[i] = at(as[i]);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      V y = at(bs[r]);
      opaque(y); // M uses of one load
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) acc[0][i * R + r] = fma(x[i], y, acc[0][i * R + r]);
    }
  };
  chain_sums<V, 1, S> all;
  index_t p = 0;
  in_chains(k / W, chain_terms, acc, all, [&](index_t n, index_t end) __attribute__((always_inline)) {
    for (; n < end; ++n, p += W)
      step([&](const T* q) __attribute__((always_inline)) { return load<V>(q + p); });
  });
  all.finish(acc);
  if (const first_lanes<V> lanes(k - p); p < k)
    step([&](const T* q) __attribute__((always_inline)) { return lanes.load(q + p); });
  T sums[S];
  unroll<S / W>([&](auto g) __attribute__((always_inline)) {
    V part[W];
    unroll<W>([&](auto l) __attribute__((always_inline)) { part[l] = acc[0][g * W + l]; });
    store(sums + g * W, hsum_each(part));
  });
  for (index_t i = 0; i < rows; ++i)
    for (index_t r = 0; r < cols; ++r) {
      T& to = c[i * c_row + r];
      to = add ? to + sums[i * R + r] : sums[i * R + r];
    }
}
/// c[i, j] = sum_p a[i * a_row + p] * b[j * b_row + p]. A few rows of b meet all rows of a before the next ones come.
template <class V, class T> void rows_of_dots(index_t rows, index_t cols, index_t k, const T* a,
                                              index_t a_row, const T* b, index_t b_row, T* c, index_t c_row,
                                              bool add) {
  constexpr index_t R = dots_at_once<V> / 4;
  for (index_t j = 0; j < cols; j += 2 * R, b += 2 * R * b_row, c += 2 * R) {
    const index_t n = std::min(2 * R, cols - j);
    for (index_t i = 0; i < rows; i += 4) {
      const index_t m = std::min<index_t>(4, rows - i);
      const T* const at = a + i * a_row;
      T* const to = c + i * c_row;
      if (m <= 2) block_of_dots<V, 2>(m, n, k, at, a_row, b, b_row, to, c_row, add);
      else {
        block_of_dots<V, 4>(m, std::min(R, n), k, at, a_row, b, b_row, to, c_row, add);
        if (n > R) block_of_dots<V, 4>(m, n - R, k, at, a_row, b + R * b_row, b_row, to + R, c_row, add);
      }
    }
  }
}

/// Is a product computed without blocks? It has one row, or few rows whose terms are contiguous in both operands.
template <class V, class T>
constexpr bool are_few_rows(index_t rows, index_t k, const matrix<T>& a, const matrix<T>& b) {
  if (rows == 1) return b.col == 1 || a.col == 1;
  constexpr bool wide_lanes = sizeof(V) == 64;
  // with more rows a transposed copy of b pays
  const index_t most = k >= 128 ? (wide_lanes ? 32 : 12) : (wide_lanes ? 8 : 4);
  return rows <= most && k >= blocking<V>::W && a.col == 1 && b.col != 1;
}
/// `rows` of the `of` rows of c = a b, with add of c += a b, without packing. The method, and so the order of sums, is
/// that of the whole c.
///   @pre are_few_rows(of, k, a, b)
template <class V, class T>
void few_rows(index_t of, index_t rows, index_t cols, index_t k, const matrix<T>& a, const matrix<T>& b, T* c,
              index_t c_row, bool add = false) {
  if (of > 1) rows_of_dots<V>(rows, cols, k, a.p, a.row, b.p, b.col, c, c_row, add);
  else if (b.col == 1) row_times_matrix<V>(cols, k, a.p, a.col, b.p, b.row, c, add);
  else row_of_dots<V>(cols, k, a.p, b.p, b.col, c, add);
}

/// If c is computed column by column: the steps of k at a time, so that all columns of a few rows of a are read before
/// the next rows; and the elements of scratch.
inline constexpr index_t few_columns_steps = least_steps;
template <class V> constexpr index_t few_columns_panels(index_t rows, index_t cols, index_t k) {
  return few_columns_steps * round_up(std::min(rows, blocking<V>::NC), blocking<V>::NR) +
         (k > blocks_in_order * few_columns_steps ? long_sums_scratch(rows, cols) : 0);
}
/// Is c too narrow for vectors along its rows, and are `room` elements enough for few_columns? It packs b, or computes
/// c column by column.
template <class V, class T>
bool are_few_columns(index_t rows, index_t cols, index_t k, const matrix<T>& a, index_t room) {
  constexpr index_t W = blocking<V>::W;
  return cols <= 4 && 2 * cols <= W && rows >= W && k >= W &&
         (a.col == 1 ? cols * k : cols * rows + few_columns_panels<V>(rows, cols, k)) <= room;
}
/// c = a b with vectors along k if rows of a are contiguous, else down the columns of c.
/// It takes W rows of a at a time; the order of sums depends on how many rows the last group has.
///   @pre are_few_columns(rows, cols, k, a, elements of scratch), b has no list
template <class V, class T>
void few_columns(index_t rows, index_t cols, index_t k, const matrix<T>& a, const matrix<T>& b, T* c,
                 index_t c_row, T* scratch, index_t kc) {
  constexpr index_t W = blocking<V>::W, line = 64 / static_cast<index_t>(sizeof(T));
  if (a.col == 1) {
    for (index_t j = 0; j < cols; ++j)
      for (index_t p = 0; p < k; ++p) scratch[j * k + p] = b.p[p * b.row + j * b.col];
    T part[V::size];
    for (index_t i = 0; i < rows; i += W) { // so many rows stay in L1
      const index_t n = std::min(W, rows - i);
      for (index_t r = i + W; r < std::min(rows, i + 2 * W); ++r)
        for (index_t p = 0; p < k; p += line) __builtin_prefetch(a.p + r * a.row + p);
      for (index_t j = 0; j < cols; ++j) {
        row_of_dots<V>(n, k, scratch + j * k, a.p + i * a.row, a.row, part);
        for (index_t x = 0; x < n; ++x) c[(i + x) * c_row + j] = part[x];
      }
    }
  } else {
    T* const columns = scratch + few_columns_panels<V>(rows, cols, k);
    const matrix<T> at{a.p, a.col, a.row, a.list}, bt{b.p, b.col, b.row};
    tile<V>(cols, rows, k, bt, at, columns, rows, scratch, std::min(kc, few_columns_steps));
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < cols; ++j) c[i * c_row + j] = columns[j * rows + i];
  }
}

} // namespace tapeless::cpu
