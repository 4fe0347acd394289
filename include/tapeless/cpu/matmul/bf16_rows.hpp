// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// bf16 products of one or two rows: nothing is packed, elements are widened in registers.
#include <algorithm>
#include <type_traits>

#include "../../core/bf16.hpp"
#include "../base/bf16.hpp"
#include "../base/sums.hpp"
#include "pack.hpp"

namespace tapeless::cpu {

/// Elements of a row of a that are widened at a time.
inline constexpr index_t few_rows_k = 4096;

/// c[r, j] = sum_p a[r * a_row + p] * b[p * b_row + j] for R rows, in blocks of `together` along p, added in order
template <class V, int R> void bf16_rows_times_matrix(index_t n, index_t k, const float* a, index_t a_row,
                                                      const bf16* b, index_t b_row, float* c, index_t c_row,
                                                      index_t together) {
  constexpr index_t W = static_cast<index_t>(V::size);
  for (index_t p = 0; p < k; p += together, a += together, b += together * b_row) {
    const index_t kb = std::min(together, k - p);
    const bool more = p > 0;
    const auto run = [&](index_t j, index_t last, auto vectors) {
      constexpr int N = vectors.value;
      V acc[R][N];
      unroll<R>([&](auto r) __attribute__((always_inline)) {
        unroll<N>([&](auto x) __attribute__((always_inline)) { acc[r][x] = V(0.0f); });
      });
      for (index_t q = 0; q < kb; ++q) {
        const bf16* const row = b + q * b_row + j;
        unroll<N>([&](auto x) __attribute__((always_inline)) {
          const V v = x < N - 1 || last == W ? load_bf16<V>(row + x * W) : load_bf16_n<V>(row + x * W, last);
          unroll<R>([&](auto r) __attribute__((always_inline)) {
            acc[r][x] = cpu::fma(V(a[r * a_row + q]), v, acc[r][x]);
          });
        });
      }
      unroll<R>([&](auto r) __attribute__((always_inline)) {
        unroll<N>([&](auto x) __attribute__((always_inline)) {
          float* const t = c + r * c_row + j + x * W;
          if (x < N - 1 || last == W) store(t, more ? load<V>(t) + acc[r][x] : acc[r][x]);
          else store_n(t, more ? load_n<V>(t, last) + acc[r][x] : acc[r][x], last);
        });
      });
    };
    index_t j = 0;
    for (; j + 8 * W <= n; j += 8 * W) run(j, W, std::integral_constant<int, 8>{});
    for (; j + W <= n; j += W) run(j, W, std::integral_constant<int, 1>{});
    if (j < n) run(j, n - j, std::integral_constant<int, 1>{});
  }
}
/// c[r, j] = sum_p a[r * a_row + p] * b[j * b_row + p] for R rows
template <class V, int R> void bf16_rows_of_dots(index_t n, index_t k, const float* a, index_t a_row,
                                                 const bf16* b, index_t b_row, float* c, index_t c_row) {
  constexpr index_t W = static_cast<index_t>(V::size);
  constexpr int U = 4;
  for (index_t j = 0; j < n; ++j, b += b_row) {
    V acc[R][U];
    unroll<R>([&](auto r) __attribute__((always_inline)) {
      unroll<U>([&](auto u) __attribute__((always_inline)) { acc[r][u] = V(0.0f); });
    });
    chain_sums<V, R, U> sums;
    index_t p = 0;
    in_chains(k / (U * W), chain_terms, acc, sums,
              [&](index_t step, index_t end) __attribute__((always_inline)) {
                for (; step < end; ++step, p += U * W)
                  unroll<U>([&](auto u) __attribute__((always_inline)) {
                    const V v = load_bf16<V>(b + p + u * W);
                    unroll<R>([&](auto r) __attribute__((always_inline)) {
                      acc[r][u] = cpu::fma(load<V>(a + r * a_row + p + u * W), v, acc[r][u]);
                    });
                  });
              });
    sums.finish(acc);
    for (; p < k; p += W) {
      const index_t left = std::min(W, k - p);
      const V v = load_bf16_n<V>(b + p, left);
      unroll<R>([&](auto r) __attribute__((always_inline)) {
        acc[r][0] = cpu::fma(load_n<V>(a + r * a_row + p, left), v, acc[r][0]);
      });
    }
    unroll<R>([&](auto r) __attribute__((always_inline)) {
      c[r * c_row + j] = hsum((acc[r][0] + acc[r][1]) + (acc[r][2] + acc[r][3]));
    });
  }
}
/// c = a b for one or two rows: b is read once, in place.   Scratch: 2 min(k, few_rows_k) floats
template <class V> void bf16_few_rows(index_t rows, index_t cols, index_t k, const matrix<bf16>& a,
                                      const matrix<bf16>& b, float* c, index_t c_row, float* scratch) {
  constexpr index_t sweep = 1024; // columns
  const bool dots = b.row == 1 && (b.col != 1 || cols == 1);
  const index_t together = b.row < 2048 ? chain_terms : 8; // few pages of b are in use at once
  const index_t room = std::min(k, dots ? few_rows_k : blocks_in_order * together);
  float block[2 * sweep], lost[2 * sweep];
  for (index_t j = 0; j < cols; j += sweep) {
    const index_t n = std::min(sweep, cols - j);
    for (index_t p = 0; p < k; p += room) {
      const index_t kb = std::min(room, k - p);
      for (index_t i = 0; i < rows; ++i)
        for (index_t q = 0; q < kb; ++q) scratch[i * room + q] = static_cast<float>(a.at(i, p + q).p[0]);
      const matrix<bf16> part = b.at(p, j);
      float* const to = p == 0 ? c + j : block;
      const index_t row = p == 0 ? c_row : sweep;
      const auto run = [&](auto r) {
        if (dots) bf16_rows_of_dots<V, r.value>(n, kb, scratch, room, part.p, b.col, to, row);
        else bf16_rows_times_matrix<V, r.value>(n, kb, scratch, room, part.p, b.row, to, row, together);
      };
      if (rows == 1) run(std::integral_constant<int, 1>{});
      else run(std::integral_constant<int, 2>{});
      for (index_t i = 0; p > 0 && i < rows; ++i)
        add_block<V>(n, block + i * sweep, c + i * c_row + j, lost + i * sweep, p == room);
    }
    for (index_t i = 0; k > room && i < rows; ++i) end_sums<V>(n, c + i * c_row + j, lost + i * sweep);
  }
}

} // namespace tapeless::cpu
