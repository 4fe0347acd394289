// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// CSR matrices times dense matrices of K columns, row-major and without gaps, and both adjoints.
// a: (M, N) in rows of entries; k counts the rows that are visited, i = rows(k).
//   spmm             C[k,:]         = sum_e values[e] * B[column[e],:]       B: (N, K)   C: (rows visited, K)
//   spmm_transposed  B[column[e],:] += values[e] * C[k,:]
//   sddmm            out[e]         = <L[k,:], R[column[e],:]>               L: (rows visited, K)   R: (N, K)
// A sum has one order for a given K, whatever the range of rows and their choice.
#include "../base/long_sums.hpp"
#include "csr.hpp"

namespace tapeless::cpu {
// Columns [j, j + N * W) of a row of a dense matrix in N registers. In the last block of a row, N is 1 and `last` of W
// columns exist.
template <class V, int N, bool Whole> struct dense_block {
  using T = typename V::value_type;
  static constexpr int W = static_cast<int>(V::size);
  index_t last;

  [[gnu::always_inline]] V get(const T* p, int n) const {
    if constexpr (Whole) return load<V>(p + n * W);
    else return load_n<V>(p, last);
  }
  [[gnu::always_inline]] void put(T* p, int n, const V& v) const {
    if constexpr (Whole) store(p + n * W, v);
    else store_n(p, v, last);
  }
  // Prefetches this block of a later row, a line at a time.
  [[gnu::always_inline]] static void prefetch(const T* p) {
    unroll<(N * static_cast<int>(sizeof(V)) + 63) / 64>([&](auto l) __attribute__((always_inline)) {
      __builtin_prefetch(reinterpret_cast<const char*>(p) + 64 * l, 0, 3);
    });
  }
};

// Calls f(block, N, j) for the blocks of K columns: 8, 4, 2 and 1 vectors, then the rest of less than a vector.
template <class V, class F> [[gnu::always_inline]] inline void each_block(index_t K, F f) {
  constexpr index_t W = static_cast<index_t>(V::size);
  index_t j = 0;
  for (; j + 8 * W <= K; j += 8 * W) f(dense_block<V, 8, true>{0}, std::integral_constant<int, 8>{}, j);
  if (j + 4 * W <= K) f(dense_block<V, 4, true>{0}, std::integral_constant<int, 4>{}, j), j += 4 * W;
  if (j + 2 * W <= K) f(dense_block<V, 2, true>{0}, std::integral_constant<int, 2>{}, j), j += 2 * W;
  if (j + W <= K) f(dense_block<V, 1, true>{0}, std::integral_constant<int, 1>{}, j), j += W;
  if (j < K) f(dense_block<V, 1, false>{K - j}, std::integral_constant<int, 1>{}, j);
}

// values[e] * v + sum
template <class V, class Values>
[[gnu::always_inline]] inline V fma_entry(Values values, index_t e, const V& v, const V& sum) {
  if constexpr (is_ones<Values>) return v + sum;
  else return fma(V(values[e]), v, sum);
}

// How many entries ahead within a row the rows of B are prefetched.
inline constexpr index_t rows_ahead = 16;

// C[k,:] = sum_e values[e] * B[column[e],:] for k in [lo, hi); values may be `ones`
template <class V, class Ends, class Rows, class Values>
void spmm(const csr_rows<Ends>& a, Rows rows, Values values, const typename V::value_type* B, index_t K,
          index_t lo, index_t hi, typename V::value_type* C) {
  using T = typename V::value_type;
  for (index_t k = lo; k < hi; ++k) {
    const index_t i = rows(k), begin = a.begin(i), end = a.end[i];
    each_block<V>(K, [&](const auto& block, auto N, index_t j) __attribute__((always_inline)) {
      constexpr int chains = N >= 8 ? 1 : N >= 4 ? 2 : 4; // each sums every chains-th entry
      V sum[chains][N], all[N], high[N], low[N];
      const auto add = [&](index_t e, auto chain) __attribute__((always_inline)) {
        if (e + rows_ahead < end) block.prefetch(B + a.column[e + rows_ahead] * K + j);
        const T* const p = B + a.column[e] * K + j;
        unroll<N>([&](auto n) __attribute__((always_inline)) {
          sum[chain][n] = fma_entry(values, e, block.get(p, n), sum[chain][n]);
        });
      };
      index_t e = begin, blocks = 0;
      bool is_long = false;
      do { // a longer row is a sum of such blocks
        const index_t stop = end - e > chains * short_sum ? e + chains * short_sum : end;
        unroll<chains * N>([&](auto s) __attribute__((always_inline)) { sum[s / N][s % N] = V(T(0)); });
        for (; e + chains <= stop; e += chains)
          unroll<chains>([&](auto chain) __attribute__((always_inline)) { add(e + chain, chain); });
        for (; e < stop; ++e) add(e, std::integral_constant<int, 0>{});
        unroll<N>([&](auto n) __attribute__((always_inline)) {
          V s = sum[0][n];
          if constexpr (chains == 2) s = s + sum[1][n];
          if constexpr (chains == 4) s = (s + sum[1][n]) + (sum[2][n] + sum[3][n]);
          all[n] = blocks == 0 ? s : all[n] + s;
        });
        if (++blocks == short_sum) [[unlikely]] {
          unroll<N>([&](auto n) __attribute__((always_inline)) {
            if (!is_long) high[n] = low[n] = V(T(0));
            end_chain(high[n], low[n], all[n]);
          });
          is_long = true;
          blocks = 0;
        }
      } while (e < end);
      unroll<N>([&](auto n) __attribute__((always_inline)) {
        if (is_long) [[unlikely]] {
          if (blocks > 0) end_chain(high[n], low[n], all[n]);
          all[n] = sum_of(high[n], low[n]);
        }
        block.put(C + k * K + j, n, all[n]);
      });
    });
  }
}

// B[column[e],:] += values[e] * C[k,:] for k in [lo, hi); values may be `ones`. Rows of B and C are `stride` elements
// apart: the K columns may be a part of them.
template <class V, class Ends, class Rows, class Values>
void spmm_transposed(const csr_rows<Ends>& a, Rows rows, Values values, const typename V::value_type* C,
                     index_t K, index_t stride, index_t lo, index_t hi, typename V::value_type* B) {
  using T = typename V::value_type;
  for (index_t k = lo; k < hi; ++k) {
    const index_t i = rows(k), begin = a.begin(i), end = a.end[i];
    each_block<V>(K, [&](const auto& block, auto N, index_t j) __attribute__((always_inline)) {
      V c[N];
      unroll<N>([&](auto n) __attribute__((always_inline)) { c[n] = block.get(C + k * stride + j, n); });
      for (index_t e = begin; e < end; ++e) {
        if (e + rows_ahead < end) block.prefetch(B + a.column[e + rows_ahead] * stride + j);
        T* const p = B + a.column[e] * stride + j;
        unroll<N>([&](auto n) __attribute__((always_inline)) {
          block.put(p, n, fma_entry(values, e, c[n], block.get(p, n)));
        });
      }
    });
  }
}

// out[e] = <L[k,:], R[column[e],:]> for the entries of rows k in [lo, hi)
template <class V, class Ends, class Rows>
void sddmm(const csr_rows<Ends>& a, Rows rows, const typename V::value_type* L,
           const typename V::value_type* R, index_t K, index_t lo, index_t hi, typename V::value_type* out) {
  using T = typename V::value_type;
  constexpr int W = static_cast<int>(V::size);
  constexpr int G = W < 4 ? W : 4; // entries computed side by side
  constexpr index_t longest = short_sum * W;
  for (index_t k = lo; k < hi; ++k) {
    const index_t i = rows(k), end = a.end[i];
    const T* const l = L + k * K;
    // lane m: the sum of l[j] R[column[e + m]][j] over j in [from, to)
    const auto dots = [&](index_t e, index_t from, index_t to) __attribute__((always_inline)) {
      V s[W]; // the lanes of s[m] add up to lane m
      unroll<W / G>([&](auto group) __attribute__((always_inline)) {
        V sum[G];
        unroll<G>([&](auto g) __attribute__((always_inline)) { sum[g] = V(T(0)); });
        if (const index_t first = e + group * G; first < end) {
          const T* r[G];
          unroll<G>([&](auto g) __attribute__((always_inline)) { // past the row: its last entry once more
            r[g] = R + a.column[first + g < end ? first + g : end - 1] * K;
            if (first + g + rows_ahead < end)
              __builtin_prefetch(R + a.column[first + g + rows_ahead] * K, 0, 3);
          });
          index_t j = from;
          for (; j + W <= to; j += W) {
            const V x = load<V>(l + j);
            unroll<G>([&](auto g)
                          __attribute__((always_inline)) { sum[g] = fma(x, load<V>(r[g] + j), sum[g]); });
          }
          if (j < to) {
            const V x = load_n<V>(l + j, to - j);
            unroll<G>([&](auto g) __attribute__((always_inline)) {
              sum[g] = fma(x, load_n<V>(r[g] + j, to - j), sum[g]);
            });
          }
        }
        unroll<G>([&](auto g) __attribute__((always_inline)) { s[group * G + g] = sum[g]; });
      });
      return hsum_each<V>(s);
    };
    for (index_t e = a.begin(i); e < end; e += W) {
      V sums;
      if (K <= longest) [[likely]]
        sums = dots(e, 0, K);
      else { // a sum of blocks
        V high(T(0)), low(T(0));
        for (index_t from = 0; from < K; from += longest)
          two_sum(high, low, dots(e, from, K - from > longest ? from + longest : K));
        sums = sum_of(high, low);
      }
      if (e + W <= end) store(out + e, sums);
      else store_n(out + e, sums, end - e);
    }
  }
}

} // namespace tapeless::cpu
