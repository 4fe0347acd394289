// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Sums of many products. The library's law: the error of a sum of n terms is at most 4 eps log2(n) times the sum of
// their sizes. An addition is off by eps / 2 of its result, so no term may pass more than 8 log2(n) additions.
// - Registers take `chain_terms` terms one after the other. The sums of these chains are added in memory, in a tree
// (chain_sums).
// - The results are blocks of a long sum. A few tens of blocks are added in order.
// - Beyond that a sum carries what its roundings have lost (add_block), so it is as exact for any number of blocks.
// The order of additions is a function of the extents, never of a team.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "long_sums.hpp" // IWYU pragma: export
#include "team.hpp"      // IWYU pragma: export

namespace tapeless::cpu {

/// The most terms that a register adds one after the other; a few more where terms come in pairs or rows.
inline constexpr index_t chain_terms = 48;
/// A sum of at most this many terms is one chain.
inline constexpr index_t one_chain = 64;
/// Terms that each lane of V adds in one step.
template <class V> inline constexpr index_t terms_of_step = 1;
/// The steps of a chain in a sum of n steps. From 256 terms on the law allows some more.
template <class V> constexpr index_t steps_of_chain(index_t n) {
  const index_t terms = n * terms_of_step<V>;
  return (terms > one_chain && terms < 256 ? chain_terms : one_chain) / terms_of_step<V>;
}
/// The most blocks that are added in order.
inline constexpr index_t blocks_in_order = 32;

/// Sums of (M, NV) registers, in memory while the registers take the next chain. Level l adds up to `radix` sums of
/// level l - 1.
template <class V, int M, int NV> class chain_sums {
  using T = typename V::value_type;
  static constexpr int levels = 6, radix = 16, W = static_cast<int>(V::size), size = M * NV * W;
  alignas(64) T sum_[levels][size];
  index_t chains_ = 0;

  [[gnu::noinline, gnu::cold]] static void add(T* to, const T* from, bool first) {
    for (int i = 0; i < size; ++i) to[i] = first ? from[i] : to[i] + from[i];
  }
  [[gnu::noinline, gnu::cold]] void carry() {
    index_t n = chains_;
    for (int l = 0; l + 1 < levels && n % radix == 0; ++l) {
      n /= radix;
      add(sum_[l + 1], sum_[l], l + 2 < levels ? n % radix == 1 : n == 1);
    }
  }
  [[gnu::noinline, gnu::cold]] void fold() {
    bool first = chains_ % radix == 0;
    index_t n = chains_ / radix;
    for (int l = 1; l < levels && n > 0; ++l, n /= radix)
      if (l + 1 == levels || n % radix != 0) {
        add(sum_[0], sum_[l], first);
        first = false;
      }
  }

public:
  /// Adds acc to memory and clears it.
  [[gnu::always_inline]] void collect(V (&acc)[M][NV]) {
    T* q = sum_[0];
    opaque_scalar(q); // no registers for it
    const auto put = [&](auto adds) __attribute__((always_inline)) {
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j, q += W) {
          if constexpr (adds) acc[i][j] = load<V>(q) + acc[i][j];
          store(q, acc[i][j]);
          acc[i][j] = V(T(0));
        }
    };
    chains_ % radix == 0 ? put(std::false_type{}) : put(std::true_type{});
    if (++chains_ % radix == 0) carry();
  }
  /// Adds what is in memory to acc.
  [[gnu::always_inline]] void finish(V (&acc)[M][NV]) {
    if (chains_ == 0) return;
    if (chains_ >= radix) fold();
    const T* q = sum_[0];
    opaque_scalar(q);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
      for (int j = 0; j < NV; ++j, q += W) acc[i][j] = load<V>(q) + acc[i][j];
  }
};
/// Calls f(first, end) for the chains of [0, n), and sums.collect(acc) between them.
template <class V, int M, int NV, class F>
[[gnu::always_inline]] inline void in_chains(index_t n, index_t most, V (&acc)[M][NV],
                                             chain_sums<V, M, NV>& sums, F&& f) {
  for (index_t p = 0; p < n; p += most) {
    if (p > 0) sums.collect(acc);
    f(p, std::min(n, p + most));
  }
}

/// The same for (rows, cols) terms: f(row, end of rows, col, end of cols). A chain is part of a row, or a few rows, of
/// at most `most` terms.
template <class V, int M, int NV, class F>
[[gnu::always_inline]] inline void in_chains_of_rows(index_t rows, index_t cols, index_t most,
                                                     V (&acc)[M][NV], chain_sums<V, M, NV>& sums, F&& f) {
  if (rows == 0 || cols == 0) return;
  index_t wide = cols, high = rows;
  if (cols > most) {
    const index_t parts = (cols + most - 1) / most;
    wide = (cols + parts - 1) / parts;
    high = 1;
  } else if (rows * cols > most) // 32 bits: a division of 64 takes longer than some steps of a kernel
    high = static_cast<std::uint32_t>(most) / static_cast<std::uint32_t>(cols);
  for (index_t i = 0; i < rows; i += high)
    for (index_t j = 0; j < cols; j += wide) {
      if (i + j > 0) sums.collect(acc);
      f(i, std::min(rows, i + high), j, std::min(cols, j + wide));
    }
}

/// sum[i] += block[i]; lost[i] collects what rounding loses. first: lost is not set yet
template <class V, class T> void add_block(index_t n, const T* block, T* sum, T* lost, bool first) {
  constexpr index_t W = static_cast<index_t>(V::size);
  const auto add = [&](index_t i, auto get, auto put) __attribute__((always_inline)) {
    V rest(T(0));
    if (!first) rest = get(lost + i);
    V all = get(sum + i);
    two_sum(all, rest, get(block + i));
    put(sum + i, all);
    put(lost + i, rest);
  };
  index_t i = 0;
  for (; i + W <= n; i += W)
    add(
        i, [](const T* p) __attribute__((always_inline)) { return load<V>(p); },
        [](T* p, const V& v) __attribute__((always_inline)) { store(p, v); });
  if (const index_t left = n - i; left > 0)
    add(i, [=](const T* p) { return load_n<V>(p, left); }, [=](T* p, const V& v) { store_n(p, v, left); });
}
/// Partial sums of `size` elements each, one after the other in memory.
template <class T> struct sums_of_slots {
  T* p;
  index_t slots;
};
/// The sum over `units` units, in up to `slots` parts. add_up(first, last, slots, to) writes the sum over [first,
/// last) to `to`, in so many parts, each of which adds its units in order. If there are too many units, add_up is
/// called for rounds of them, and `sum` gets their total.   shared: (slots + 1) * size elements, and `size` more if
/// sum lies there
template <class V, class T, class Team, class AddUp>
sums_of_slots<T> sum_in_rounds(const Team& team, index_t units, index_t slots, index_t size, T* shared,
                               T* sum, const AddUp& add_up) {
  slots = std::min(slots, units);
  const index_t rounds = (units + slots * blocks_in_order - 1) / (slots * blocks_in_order);
  if (rounds == 1) {
    add_up(index_t(0), units, slots, shared);
    return {shared, slots};
  }
  T* const lost = shared + slots * size;
  for (index_t r = 0; r < rounds; ++r) {
    add_up(r * units / rounds, (r + 1) * units / rounds, slots, shared);
    constexpr index_t part = 4096;
    team.run((size + part - 1) / part, [&](index_t chunk, int) {
      const index_t begin = chunk * part, n = std::min(part, size - begin);
      T* const block = shared + begin;
      for (index_t s = 1; s < slots; ++s)
        for (index_t i = 0; i < n; ++i) block[i] += block[s * size + i];
      if (r == 0) std::copy_n(block, n, sum + begin);
      else add_block<V>(n, block, sum + begin, lost + begin, r == 1);
      if (r + 1 == rounds) end_sums<V>(n, sum + begin, lost + begin);
    });
  }
  return {sum, 1};
}

} // namespace tapeless::cpu
