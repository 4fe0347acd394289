// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The microkernel of products: an (M, NV * W) block of C in registers, and how large blocks and their operands are.
#include <algorithm>
#include <type_traits>

#include "simd.hpp"

namespace tapeless::cpu::detail {

constexpr index_t ceil_div(index_t a, index_t b) { return (a + b - 1) / b; }
constexpr index_t round_up(index_t a, index_t b) { return ceil_div(a, b) * b; }

template <class V> struct blocking {
  using value_type = typename V::value_type;
  static constexpr index_t W = static_cast<index_t>(V::size);
  static constexpr int MR = sizeof(V) == 64 ? 12 : 6, NV = 2; // MR * NV accumulators + NV + 1 registers
  static constexpr index_t NR = NV * W, KC = 512;
  static constexpr index_t MC = sizeof(V) < 64 ? 72 : sizeof(value_type) == 4 ? 192 : 96; // A: up to 384 KB
  static constexpr index_t rows_in_place = 4 * MR; // up to so many read b where it is
  static constexpr index_t NC = 4096 / static_cast<index_t>(sizeof(value_type));
  static constexpr index_t long_k = 4096,
                           partials = 1 << 16; // a k that may be cut; elements for its partial sums
  // so that equal_blocks are no larger
  static_assert(NC % NR == 0 && MC % MR == 0 && KC * static_cast<index_t>(sizeof(value_type)) % 128 == 0);
};

/// Vectors of a panel of b that M rows meet at once: their sums, one vector of each and one of a fill the registers.
template <class V, int M> constexpr int vectors_of_panel = std::min(8, (sizeof(V) == 64 ? 31 : 15) / (M + 1));

/// What a microkernel fetches meanwhile: rows to come, each of them in one piece, so far apart; or, where `step` is not 0, one
/// line for each step, so far apart; and in each step what lies `ahead` of its row of b, where the panel is as wide as it
/// may be. nullptr, 0: nothing.
template <class T> struct fetched {
  const T* p = nullptr;
  index_t row = 0, step = 0, ahead = 0;
};

/// c[i, j] (+)= sum_p sum_t a[i * a_row + p * a_step + t * a_tap] * b[p * b_step + tap[t] + j]     (M, NV * W)
/// Without Taps: one t with tap[0] = 0. The last vector of c has `last` lanes; with Masked that of b as well.
/// Its loops are left to the compiler to unroll: as calls of unroll they take twice as long to compile.
template <class V, int M, int NV, bool Taps = false, bool Masked = false, class T = typename V::value_type>
[[gnu::noinline]] void micro(index_t k, const T* a, index_t a_row, index_t a_step, const T* b, index_t b_step,
                             T* c, index_t c_row, index_t last, bool add, const fetched<T>& fetch = {},
                             const index_t* tap = nullptr, int taps = 1, index_t a_tap = 1) {
  constexpr int W = static_cast<int>(V::size);
  constexpr index_t line = 64 / static_cast<index_t>(sizeof(T));
  V acc[M][NV];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j) acc[i][j] = V(T(0));
  // Rows of c are pages apart: they are on their way while the sums are taken. To L2: b passes through L1 meanwhile.
  if (M > 1 && k * taps >= (Taps ? 64 : 128))
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      __builtin_prefetch(c + i * c_row, 0, 2);
      if constexpr (NV * W > line) __builtin_prefetch(c + i * c_row + (NV - 1) * W, 0, 2);
      if constexpr (Taps) __builtin_prefetch(c + i * c_row + NV * W - 1, 0, 2);
    }
  else if (M > 1 && !Taps && k <= (sizeof(V) == 64 ? 16 : 8)) // little but stores
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      __builtin_prefetch(c + i * c_row, 1, 3);
      if constexpr (NV * W > line) __builtin_prefetch(c + i * c_row + (NV - 1) * W, 1, 3);
    }
  // A pointer for four rows of a: a step then has few additions besides its loads, and there are machines whose ports
  // for those are the ones that multiply.
  constexpr int pointers = (M + 3) / 4;
  const T* rows[pointers];
#pragma GCC unroll 16
  for (int g = 0; g < pointers; ++g) rows[g] = a + 4 * g * a_row;
  index_t third = 3 * a_row;
  keep_scalar(third);
  const auto walk = [&](index_t by) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int g = 0; g < pointers; ++g) {
      const T* p = rows[g] + by; // a copy: no element of an array could be kept
      keep_scalar(p);
      rows[g] = p;
    }
  };
  const auto step = [&](const T* bp) __attribute__((always_inline)) {
    V row[NV];
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j) {
      V v = Masked && j == NV - 1 ? load_n<V>(bp + j * W, last) : load<V>(bp + j * W);
      if constexpr (M > 1) keep(v); // with M == 1 a load is used once: as an operand
      row[j] = v;
    }
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const V x(rows[i / 4][i % 4 == 3 ? third : i % 4 * a_row]);
#pragma GCC unroll 16
      for (int j = 0; j < NV; ++j) acc[i][j] = fma(x, row[j], acc[i][j]);
    }
  };
  constexpr bool fetches_b = M > 1 && NV == vectors_of_panel<V, M> && !Taps && !Masked;
  if constexpr (Taps)
    for (; k > 0; --k, walk(a_step - taps * a_tap), b += b_step)
      for (int t = 0; t < taps; ++t, walk(a_tap)) step(b + tap[t]);
  else {
    // L1 is for what passes now, unless there is little of it.
    constexpr int near = NV > 1 ? 2 : 3;
    const T* next = fetch.p;
    const index_t next_step = fetch.step, next_line = next_step != 0 ? next_step : fetch.row,
                  ahead = fetch.ahead;
    for (index_t count; k > 0; k -= count) {
      count = NV <= 2 && next ? std::min(k, line) : k;
      if (NV <= 2 && next) {
#pragma GCC unroll 16
        for (int i = 0; i < M; ++i)
          if (i < line || next_step == 0) __builtin_prefetch(next + i * next_line, 0, near);
        for (index_t i = M; next_step != 0 && i < line; ++i)
          __builtin_prefetch(next + i * next_line, 0, near);
        next += line * (next_step != 0 ? next_step : 1);
      }
      if constexpr (fetches_b)
        if (ahead != 0) {
          for (index_t p = count; p > 0; --p, walk(a_step), b += b_step) {
#pragma GCC unroll 16
            for (int j = 0; j < NV; ++j) __builtin_prefetch(b + ahead + j * W);
            step(b);
          }
          continue;
        }
      for (index_t p = count; p > 0; --p, walk(a_step), b += b_step) step(b);
    }
  }
  const auto finish = [&](auto adds, auto whole) __attribute__((always_inline)) {
    T* q = c;
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i, q += c_row)
#pragma GCC unroll 16
      for (int j = 0; j < NV; ++j) {
        T* const to = q + j * W;
        if (whole || j < NV - 1) store(to, adds ? V(load<V>(to) + acc[i][j]) : acc[i][j]);
        else store_n(to, adds ? V(load_n<V>(to, last) + acc[i][j]) : acc[i][j], last);
      }
  };
  if (last == W) {
    if (add) finish(std::true_type{}, std::true_type{});
    else finish(std::false_type{}, std::true_type{});
  } else if (add) finish(std::true_type{}, std::false_type{});
  else finish(std::false_type{}, std::false_type{});
}

/// f(i, constant M) over the blocks [first, last) of the ceil(rows / MR) blocks of rows, which are of nearly equal
/// size.   @pre rows > 0
template <int MR, class F>
[[gnu::always_inline]] inline void row_blocks(index_t rows, index_t first, index_t last, F&& f) {
  const index_t blocks = ceil_div(rows, MR), size = rows / blocks, larger = rows % blocks;
  for (index_t n = first; n < last; ++n)
    unroll<MR>([&](auto m) __attribute__((always_inline)) {
      if (size + (n < larger ? 1 : 0) == m.value + 1)
        f(n * size + std::min(n, larger), std::integral_constant<int, m.value + 1>{});
    });
}
template <int MR, class F> [[gnu::always_inline]] inline void row_blocks(index_t rows, F&& f) {
  row_blocks<MR>(rows, 0, ceil_div(rows, MR), f);
}

} // namespace tapeless::cpu::detail
