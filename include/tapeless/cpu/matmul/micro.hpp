// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The microkernel of products: an (M, NV * W) block of C in registers. And how large blocks and their operands are.
#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "../base/sums.hpp" // IWYU pragma: export

namespace tapeless::cpu {

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

/// The widest panel of b for m rows, in vectors: its sums, a row of it and one vector of a fill the registers.
template <class V> constexpr index_t vectors_of_panel(index_t m) {
  return std::min<index_t>(8, (sizeof(V) == 64 ? 31 : 15) / (m + 1));
}

/// What a microkernel prefetches. From p on: the next rows, `row` apart, each in one piece; or, if `step` is not 0,
/// one line per step, `step` apart. And in each step what lies `ahead` of its row of b, if the panel has the largest
/// width. nullptr, 0: nothing.
template <class T> struct fetched {
  const T* p = nullptr;
  index_t row = 0, step = 0, ahead = 0;
};
/// In each step, element t of `count` elements of a, `a_tap` apart, multiplies what lies at[t] from the step's row of
/// b.
struct taps_of_step {
  const index_t* at;
  int count;
  index_t a_tap;
};

/// Prefetches the block of c that the sums go to, while they are computed: its rows are pages apart. With many steps
/// into L2, because b passes through L1 meanwhile; with few steps, where stores dominate, into L1.
template <class T>
[[gnu::always_inline]] inline void prefetch_block(int rows, int width, int lanes, bool taps, index_t steps,
                                                  const T* c, index_t c_row) {
  const bool wide = width > 64 / static_cast<int>(sizeof(T));
  if (rows == 1) return;
  if (steps >= (taps ? 64 : 128))
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      __builtin_prefetch(c + i * c_row, 0, 2);
      if (wide) __builtin_prefetch(c + i * c_row + width - lanes, 0, 2);
      if (taps) __builtin_prefetch(c + i * c_row + width - 1, 0, 2);
    }
  else if (!taps && steps <= (lanes * static_cast<int>(sizeof(T)) == 64 ? 16 : 8))
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      __builtin_prefetch(c + i * c_row, 1, 3);
      if (wide) __builtin_prefetch(c + i * c_row + width - lanes, 1, 3);
    }
}

/// Prefetches the next part of what `of` describes, from `next` on: a line of each of `rows` rows, or, if of.step is not
/// 0, as many steps as a line has elements. Returns where the next call begins. Into L2, because L1 holds the current
/// operands; into L1 if those are small.
template <class T>
[[gnu::always_inline]] inline const T* prefetch_next(int rows, bool small, const fetched<T>& of,
                                                     const T* next) {
  constexpr index_t line = 64 / static_cast<index_t>(sizeof(T));
  const index_t step = of.step, apart = step != 0 ? step : of.row;
  const auto fetch = [&](index_t i) __attribute__((always_inline)) {
    small ? __builtin_prefetch(next + i * apart, 0, 3) : __builtin_prefetch(next + i * apart, 0, 2);
  };
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
    if (i < line || step == 0) fetch(i);
  for (index_t i = rows; step != 0 && i < line; ++i) fetch(i);
  return next + line * (step != 0 ? step : 1);
}

/// c (+)= acc. The last vector of c has `last` lanes.
template <class V, int M, int NV, class T>
[[gnu::always_inline]] inline void put_block(V (&acc)[M][NV], T* c, index_t c_row, index_t last, bool add,
                                             const first_lanes<V>& lanes) {
  constexpr int W = static_cast<int>(V::size);
  const auto put = [&](auto adds, auto whole) __attribute__((always_inline)) {
    T* q = c;
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i, q += c_row) {
      V(&sum)[NV] = acc[i];
      T* const end = q + (NV - 1) * W;
      if (adds) {
#pragma GCC unroll 16
        for (int j = 0; j < NV - 1; ++j) sum[j] = load<V>(q + j * W) + sum[j];
        sum[NV - 1] = (whole ? load<V>(end) : lanes.load(end)) + sum[NV - 1];
      }
#pragma GCC unroll 16
      for (int j = 0; j < NV - 1; ++j) store(q + j * W, sum[j]);
      if constexpr (whole) store(end, sum[NV - 1]);
      else lanes.store(end, sum[NV - 1]);
    }
  };
  // This is much of a large block's code. So if its last vector is partial, each row tests whether it adds.
  using yes = std::true_type;
  using no = std::false_type;
  if (last == W) add ? put(yes{}, yes{}) : put(no{}, yes{});
  else if constexpr (M * NV <= 8) add ? put(yes{}, no{}) : put(no{}, no{});
  else put(add, no{});
}

/// c[i, j] (+)= sum_p sum_t a[i * a_row + p * a_step + t * a_tap] * b[p * b_step + at[t] + j]     (M, NV * W)
/// Without Taps: one t with at[0] = 0, and taps is nullptr. The last vector of c has `last` lanes; with Masked that of
/// b as well. The compiler unrolls the loops: as calls of unroll they take twice as long to compile.
template <class V, int M, int NV, bool Taps = false, bool Masked = false, class T = typename V::value_type>
[[gnu::noinline]] void micro(index_t k, const T* a, index_t a_row, index_t a_step, const T* b, index_t b_step,
                             T* c, index_t c_row, index_t last, bool add, const fetched<T>* fetch = nullptr,
                             const taps_of_step* taps = nullptr) {
  constexpr int W = static_cast<int>(V::size);
  constexpr index_t line = 64 / static_cast<index_t>(sizeof(T));
  const first_lanes<V> lanes(last);
  V acc[M][NV];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j) acc[i][j] = V(T(0));
  const index_t steps = Taps ? k * taps->count : k;
  prefetch_block(M, NV * W, W, Taps, steps, c, c_row);
  // One pointer for four rows of a keeps the additions of a step few: on some machines they use the ports that
  // multiply.
  constexpr int pointers = (M + 3) / 4;
  const T* rows[pointers];
#pragma GCC unroll 16
  for (int g = 0; g < pointers; ++g) rows[g] = a + 4 * g * a_row;
  index_t third = 3 * a_row;
  opaque_scalar(third);
  const auto walk = [&](index_t by) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int g = 0; g < pointers; ++g) {
      const T* p = rows[g] + by; // a copy: an array element could not stay in a register
      opaque_scalar(p);
      rows[g] = p;
    }
  };
  const auto step = [&](const T* bp) __attribute__((always_inline)) {
    V row[NV];
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j) {
      V v = Masked && j == NV - 1 ? lanes.load(bp + j * W) : load<V>(bp + j * W);
      if constexpr (M > 1) opaque(v); // with M == 1 a load is used once: as an operand
      row[j] = v;
    }
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const V x(rows[i / 4][i % 4 == 3 ? third : i % 4 * a_row]);
#pragma GCC unroll 16
      for (int j = 0; j < NV; ++j) acc[i][j] = fma(x, row[j], acc[i][j]);
    }
  };
  chain_sums<V, M, NV> sums;
  const index_t chain = steps_of_chain<V>(steps);
  constexpr bool fetches_b = M > 1 && NV == vectors_of_panel<V>(M) && !Taps && !Masked;
  if constexpr (Taps) {
    const auto [at, count, a_tap] = *taps;
    const index_t next = a_step - count * a_tap;
    in_chains(k, std::max<index_t>(1, chain / count), acc, sums,
              [&](index_t p, index_t end) __attribute__((always_inline)) {
                for (; p < end; ++p, walk(next), b += b_step)
                  for (int t = 0; t < count; ++t, walk(a_tap)) step(b + at[t]);
              });
  } else {
    const fetched<T> of = fetch != nullptr ? *fetch : fetched<T>{};
    const T* next = of.p;
    index_t room = chain;
    for (index_t count; k > 0; k -= count, room -= count) {
      if (room <= 0) {
        sums.collect(acc);
        room = chain;
      }
      count = std::min(k, NV <= 2 && next ? line : chain);
      if (NV <= 2 && next) next = prefetch_next(M, NV == 1, of, next);
      if constexpr (fetches_b)
        if (of.ahead != 0) {
          for (index_t p = count; p > 0; --p, walk(a_step), b += b_step) {
#pragma GCC unroll 16
            for (int j = 0; j < NV; ++j) __builtin_prefetch(b + of.ahead + j * W);
            step(b);
          }
          continue;
        }
      for (index_t p = count; p > 0; --p, walk(a_step), b += b_step) step(b);
    }
  }
  sums.finish(acc);
  put_block(acc, c, c_row, last, add, lanes);
}

/// micro<V, M, NV, Taps, Masked> for M in 1 ... MR. NV == 0: as many vectors as vectors_of_panel says.
template <class V, int NV, bool Taps, bool Masked>
inline constexpr auto micro_of_rows = []<int... I>(std::integer_sequence<int, I...>) {
  constexpr auto vectors = [](int m) { return NV != 0 ? NV : static_cast<int>(vectors_of_panel<V>(m)); };
  return std::array{micro<V, I + 1, vectors(I + 1), Taps, Masked>...};
}(std::make_integer_sequence<int, blocking<V>::MR>{});
/// micro() for m rows
template <class V, int NV, bool Taps = false, bool Masked = false>
[[gnu::always_inline]] inline auto micro_of(index_t m) {
  return micro_of_rows<V, NV, Taps, Masked>[static_cast<std::size_t>(m - 1)];
}
template <class V, int NV, bool Masked = false, class T = typename V::value_type>
[[gnu::always_inline]] inline void micro_rows(index_t m, index_t k, const T* a, index_t a_row, index_t a_step,
                                              const T* b, index_t b_step, T* c, index_t c_row, index_t last,
                                              bool add, const fetched<T>* fetch = nullptr) {
  micro_of<V, NV, false, Masked>(m)(k, a, a_row, a_step, b, b_step, c, c_row, last, add, fetch, nullptr);
}

/// `rows` rows in the fewest blocks of at most MR, of nearly equal size, the larger ones first.   @pre rows > 0
template <int MR> struct row_split {
  index_t blocks, size, larger;
  constexpr explicit row_split(index_t rows)
      : blocks(ceil_div(rows, MR)), size(rows / blocks), larger(rows % blocks) {}
  constexpr index_t begin(index_t n) const { return n * size + std::min(n, larger); }
  constexpr index_t rows(index_t n) const { return size + (n < larger ? 1 : 0); }
};
/// f(first row, number of rows) over the blocks of row_split, or over [first, last) of them
template <int MR, class F>
[[gnu::always_inline]] inline void row_blocks(index_t rows, index_t first, index_t last, F&& f) {
  const row_split<MR> split(rows);
  for (index_t n = first; n < last; ++n) f(split.begin(n), split.rows(n));
}
template <int MR, class F> [[gnu::always_inline]] inline void row_blocks(index_t rows, F&& f) {
  row_blocks<MR>(rows, 0, ceil_div(rows, MR), f);
}
/// The same, but the number of rows is a constant.
template <int MR, class F> [[gnu::always_inline]] inline void constant_row_blocks(index_t rows, F&& f) {
  row_blocks<MR>(rows, [&](index_t i, index_t rows_of_block) __attribute__((always_inline)) {
    unroll<MR>([&](auto m) __attribute__((always_inline)) {
      if (rows_of_block == m.value + 1) f(i, std::integral_constant<int, m.value + 1>{});
    });
  });
}

} // namespace tapeless::cpu
