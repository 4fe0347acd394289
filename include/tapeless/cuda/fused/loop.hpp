// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// loop_kernel: a fused loop.
//   for item in item axes:  for term in summed axes:  registers = code(loads);  store, or add to the sums of the item
// A group of G threads has one item and one of `splits` ranges of its terms: G = 1 where neighbours along the innermost axis
// are items, up to 32 where they are terms. combine_kernel adds up what the splits have summed, in their order.
// Rows of a counted axis that are not there add nothing, and are stored as 0.
#pragma once
#include "../../plan/ir/instruction.hpp"
#include "../base/block.hpp"
#include "loop_code.hpp"

namespace tapeless::cuda {

// What a lane has summed; a shuffle moves it.
template <class T, int N> struct partial_sums {
  T x[N > 0 ? N : 1];
};
template <class T> TAPELESS_KERNEL T neutral(int f) {
  return f == detail::folding::max ? -infinity<T>() : T(f == detail::folding::product ? 1 : 0);
}
template <class T> TAPELESS_KERNEL T joined(int f, T x, T y) {
  return f == detail::folding::max ? larger(x, y) : f == detail::folding::product ? x * y : x + y;
}
// A lane adds so many terms in one chain, and then the chain to its sum: rounding errors stay small.
inline constexpr count_t chain_of_terms = 32;

template <class W, int G, auto... Custom> struct loop_kernel {
  using loop = loop_words<W>;
  using code = loop_code<W, Custom...>;
  using T = typename loop::T;
  using sums = partial_sums<T, loop::sums>;
  static constexpr int slots = loop::slots;

  loop_memory<W> memory;
  index_t stride[slots][loop::axes]; // elements
  count_t extent[loop::axes];
  static constexpr int counts = loop::counted != 0 ? loop::axes : 1;
  const index_t* count[counts]; // of a counted axis, in elements of it each
  count_t each[counts];
  void* partial[loop::sums > 0 ? loop::sums : 1]; // [splits][items]; nullptr: the kernel ends the sum
  count_t items, terms, splits, chunk;            // chunk: terms of a split

  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.template groups<G, sums>(
        items * splits, [this](count_t member, count_t lane) { return of_lane(member, lane); },
        [](sums& x, const sums& y) { join<0>(x, y); },
        [this](count_t member, const sums& r) { write<0>(member, r); });
  }

private:
  TAPELESS_KERNEL sums of_lane(count_t member, count_t lane) const {
    sums r{};
    clear<0>(r);
    index_t first[slots];
    for (int k = 0; k < slots; ++k) first[k] = 0;
    const bool is_there = move<false>(first, member % items);
    const count_t lo = member / items * chunk, hi = lo + chunk < terms ? lo + chunk : terms;
    for (count_t term = lo + lane; term < hi;) {
      sums part{};
      clear<0>(part);
      for (count_t k = 0; k < chain_of_terms && term < hi; ++k, term += G) {
        index_t at[slots];
        for (int s = 0; s < slots; ++s) at[s] = first[s];
        typename code::registers q{};
        if (move<true>(at, term) && is_there) {
          code::run(q, memory, at);
          add<0>(part, q);
        }
        code::store(q, memory, at);
      }
      join<0>(r, part);
    }
    return is_there ? r : sums{};
  }
  // From position 0 to index i of the term axes, or of the item axes.   @return is it there?
  template <bool Terms> TAPELESS_KERNEL bool move(index_t* at, count_t i) const {
    bool is_there = true;
    constexpr unsigned all = (1u << loop::axes) - 1u, mask = Terms ? loop::terms : ~loop::terms & all;
    TAPELESS_UNROLL
    for (int x = loop::axes - 1; x >= 0; --x) {
      if (((mask >> x) & 1u) == 0) continue;
      const bool last = (mask & ((1u << x) - 1u)) == 0; // no axis ahead: no division
      const count_t k = last ? i : i % extent[x];
      if (!last) i /= extent[x];
      if (loop::is_counted(x)) is_there = is_there && k < each[x] * *count[x];
      for (int s = 0; s < slots; ++s) at[s] += static_cast<index_t>(k) * stride[s][x];
    }
    return is_there;
  }
  template <int K> TAPELESS_KERNEL static void clear(sums& r) {
    if constexpr (K < loop::stores) {
      constexpr detail::store y = loop::out(K);
      if constexpr (loop::is_sum(K)) r.x[loop::sums_before(K)] = neutral<T>(y.f);
      clear<K + 1>(r);
    }
  }
  template <int K> TAPELESS_KERNEL static void add(sums& r, const typename code::registers& q) {
    if constexpr (K < loop::stores) {
      constexpr detail::store y = loop::out(K);
      constexpr int n = loop::sums_before(K);
      if constexpr (loop::is_sum(K)) r.x[n] = joined(y.f, r.x[n], q.f[y.reg]);
      add<K + 1>(r, q);
    }
  }
  template <int K> TAPELESS_KERNEL static void join(sums& x, const sums& y) {
    if constexpr (K < loop::stores) {
      constexpr detail::store out = loop::out(K);
      constexpr int n = loop::sums_before(K);
      if constexpr (loop::is_sum(K)) x.x[n] = joined(out.f, x.x[n], y.x[n]);
      join<K + 1>(x, y);
    }
  }
  template <int K> TAPELESS_KERNEL void write(count_t member, const sums& r) const {
    if constexpr (K < loop::stores) {
      constexpr detail::store y = loop::out(K);
      constexpr int n = loop::sums_before(K);
      if constexpr (loop::is_sum(K)) {
        if (partial[n] != nullptr) static_cast<T*>(partial[n])[member] = r.x[n];
        else {
          index_t at[slots];
          for (int k = 0; k < slots; ++k) at[k] = 0;
          move<false>(at, member);
          static_cast<T*>(memory.base[y.slot])[at[y.slot]] = r.x[n];
        }
      }
      write<K + 1>(member, r);
    }
  }
};

// y[item] = combination of partial[split][item] over splits
template <class T, int F> struct combine_kernel { // F: a detail::folding
  const T* partial;
  T* y;
  count_t items, splits, axes; // axes: those of items
  count_t extent[6];
  index_t stride[6]; // of y

  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    using sums = partial_sums<T, 1>;
    block.template groups<32, sums>(
        items,
        [this](count_t item, count_t lane) {
          sums r{{neutral<T>(F)}};
          for (count_t j = lane; j < splits;) {
            T part = neutral<T>(F);
            for (count_t k = 0; k < chain_of_terms && j < splits; ++k, j += 32)
              part = joined(F, part, partial[static_cast<index_t>(j) * items + item]);
            r.x[0] = joined(F, r.x[0], part);
          }
          return r;
        },
        [](sums& a, const sums& b) { a.x[0] = joined(F, a.x[0], b.x[0]); },
        [this](count_t item, const sums& r) {
          index_t at = 0;
          for (int a = static_cast<int>(axes) - 1; a >= 0; --a) {
            at += static_cast<index_t>(item % extent[a]) * stride[a];
            item /= extent[a];
          }
          y[at] = r.x[0];
        });
  }
};

} // namespace tapeless::cuda
