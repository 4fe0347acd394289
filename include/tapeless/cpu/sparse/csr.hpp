// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// CSR matrices times vectors, and their transposes. rows.hpp says how both are cut into chunks.
// a: (M, N) in rows of entries; e counts the entries of all rows, k the rows that are visited, i = rows(k).
//   spmv             y[k]         = sum_e values[e] * x[column[e]]          x: (N)   y: (rows visited)
//   spmv_transposed  g[column[e]] += values[e] * r[k]                       r: (rows visited)   g: (N)
//   spread           out[e]       = l[k] * x[column[e]]                     out: (entries)
// Stride: element j of x and g lies at [Stride * j]. With 2 a value and its gradient lie side by side. Then what spmv
// has loaded is in L1 when spmv_transposed comes to the same row.
// A sum over the entries of a row has one order, whatever the range of rows, their choice and Stride.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../base/long_sums.hpp"
#include "../base/partial_vector.hpp"
#include "rows.hpp" // IWYU pragma: export

namespace tapeless::cpu {

template <class P> inline constexpr bool is_ones = std::is_same_v<P, ones>;

template <class T> [[gnu::always_inline]] inline T entry(const T* p, index_t e) { return p[e]; }
template <class T> [[gnu::always_inline]] inline T entry(ones, index_t) { return T(1); }

template <class P> [[gnu::always_inline]] inline P starting_at(P p, index_t n) {
  if constexpr (is_ones<P>) return p;
  else return p + n;
}

// Prefetches entries of later rows into L2, where they do not push x and g out of L1. Every group of lanes asks,
// several times a line: a fifth faster on Zen 4 than once. The address may lie past the arrays; nothing is read there.
template <class P> [[gnu::always_inline]] inline void prefetch_at(const P* p, index_t offset) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) +
                                                   static_cast<std::uintptr_t>(offset) * sizeof(P)),
                     0, 1);
}
[[gnu::always_inline]] inline void prefetch_at(ones, index_t) {}

// The distance from the first entry of row k to that of row `then`, of which as many entries are prefetched as row k
// has. 0: no prefetch, as there is no such row, or its entries may not exist or are too many.
template <class Ends, class Rows>
constexpr index_t entries_to_next(const csr_rows<Ends>&, const Rows&, index_t, index_t, nothing_next) {
  return 0;
}
template <class Ends, class Rows>
index_t entries_to_next(const csr_rows<Ends>& a, const Rows& rows, index_t k, index_t then, rows_next next) {
  if (then >= next.until) return 0;
  const index_t begin = a.begin(rows(k)), entries = a.end[rows(k)] - begin, there = a.begin(rows(then));
  return entries <= entries_at_hand && there + entries <= next.nnz ? there - begin : 0;
}

// The columns of N entries, two with one load. No column is negative.
template <int N> struct columns_of_group {
  index_t j[N];
};
template <int N> [[gnu::always_inline]] inline columns_of_group<N> load_columns(const std::int32_t* p) {
  columns_of_group<N> c;
  unroll<N / 2>([&](auto n) __attribute__((always_inline)) {
    std::uint64_t two;
    std::memcpy(&two, p + 2 * n, sizeof two);
    constexpr int low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 1;
    c.j[2 * n + low] = static_cast<index_t>(two & 0xffffffffu);
    c.j[2 * n + 1 - low] = static_cast<index_t>(two >> 32);
  });
  return c;
}

// y[k] = sum_e values[e] * x[Stride * column[e]] for k in [lo, hi); values and x may be `ones`
template <class V, int Stride = 1, class Ends, class Rows, class Values, class X>
void spmv(const csr_rows<Ends>& a, Rows rows, Values values, X x, index_t lo, index_t hi,
          typename V::value_type* y) {
  using T = typename V::value_type;
  constexpr int L = narrow_width<T>;
  constexpr bool values_are_ones = is_ones<Values>, x_is_ones = is_ones<X>;
  for (index_t k = lo; k < hi; ++k) {
    const index_t i = rows(k), begin = a.begin(i), end = a.end[i];
    if constexpr (values_are_ones && x_is_ones) y[k] = static_cast<T>(end - begin);
    else {
      const index_t ahead = rows.ahead(a, k);
      const auto add = [&](index_t e, narrow<T>& sum) __attribute__((always_inline)) {
        prefetch_at(a.column, e + ahead);
        prefetch_at(values, e + ahead);
        if constexpr (x_is_ones) sum += load_narrow(values + e);
        else {
          const std::int32_t* const at = a.column + e;
          const narrow<T> p = pack_narrow<T>(
              [&](int l) __attribute__((always_inline)) { return x[index_t(Stride) * at[l]]; });
          if constexpr (values_are_ones) sum += p;
          else sum = fma_narrow<T>(p, load_narrow(values + e), sum);
        }
      };
      const auto sum_of_block = [&](index_t e, index_t stop) __attribute__((always_inline)) {
        narrow<T> even{}, odd{}; // two chains
        T rest{};
        for (; e + 2 * L <= stop; e += 2 * L) {
          add(e, even);
          add(e + L, odd);
        }
        if (e + L <= stop) add(e, even), e += L;
#pragma GCC unroll 1
        for (; e < stop; ++e)
          if constexpr (x_is_ones) rest += values[e];
          else if constexpr (values_are_ones) rest += x[index_t(Stride) * a.column[e]];
          else rest = fma_scalar(x[index_t(Stride) * a.column[e]], values[e], rest);
        return hsum_narrow<T>(even + odd) + rest;
      };
      constexpr index_t block = 2 * L * short_sum;
      if (end - begin <= block) [[likely]]
        y[k] = sum_of_block(begin, end);
      else {
        T high{}, low{};
        for (index_t e = begin; e < end; e += block)
          two_sum(high, low, sum_of_block(e, end - e > block ? e + block : end));
        y[k] = sum_of(high, low);
      }
    }
  }
}

// g[Stride * column[e]] += values[e] * r[k] for k in [lo, hi); values and r may be `ones`
// It is not inlined, as its loop takes all registers: inlined in a sweep it takes a sixth longer.
template <class V, int Stride = 1, class Ends, class Rows, class Values, class R, class Next = nothing_next>
[[gnu::noinline]] void spmv_transposed(const csr_rows<Ends>& a, Rows rows, Values values, R r, index_t lo,
                                       index_t hi, typename V::value_type* __restrict g, Next next = {}) {
  using T = typename V::value_type;
  constexpr int L = narrow_width<T>;
  constexpr bool products = !is_ones<Values> && !is_ones<R>;
  for (index_t k = lo; k < hi; ++k) {
    const index_t i = rows(k), end = a.end[i], ahead = rows.ahead(a, k);
    const T scale = entry<T>(r, k);
    const auto add = [&](index_t at) __attribute__((always_inline)) {
      T& s = g[index_t(Stride) * a.column[at]];
      if constexpr (is_ones<Values>) s += scale;
      else if constexpr (is_ones<R>) s += values[at];
      else s += scale * values[at];
    };
    index_t e = a.begin(i);
    const auto add_all = [&](auto asks, index_t to_next) __attribute__((always_inline)) {
      for (; e + L <= end; e += L) {
        if constexpr (asks) {
          const auto c = load_columns<L>(a.column + e + to_next);
          unroll<L>([&](auto l)
                        __attribute__((always_inline)) { __builtin_prefetch(g + index_t(Stride) * c.j[l]); });
        }
        prefetch_at(a.column, e + ahead);
        prefetch_at(values, e + ahead);
        if constexpr (products) { // products first: a tenth faster on Zen 4 than one fma after the other
          const narrow<T> p = load_narrow(values + e) * scale;
          const auto c = load_columns<L>(a.column + e);
          unroll<L>([&](auto l) __attribute__((always_inline)) { g[index_t(Stride) * c.j[l]] += p[int{l}]; });
        } else unroll<L>([&](auto l) __attribute__((always_inline)) { add(e + l); });
      }
    };
    const index_t to_next = entries_to_next(a, rows, k, k + (hi - lo), next);
    if (to_next > 0) add_all(std::true_type{}, to_next);
    else add_all(std::false_type{}, 0);
#pragma GCC unroll 1
    for (; e < end; ++e) add(e);
  }
}

// out[e] = l[k] * x[Stride * column[e]] for the entries of rows k in [lo, hi); l and x may be `ones`
template <class V, int Stride = 1, class Ends, class Rows, class L, class X>
void spread(const csr_rows<Ends>& a, Rows rows, L l, X x, index_t lo, index_t hi,
            typename V::value_type* out) {
  using T = typename V::value_type;
  for (index_t k = lo; k < hi; ++k) {
    const index_t i = rows(k), end = a.end[i];
    const T left = entry<T>(l, k);
    for (index_t e = a.begin(i); e < end; ++e)
      if constexpr (is_ones<X>) out[e] = left;
      else if constexpr (is_ones<L>) out[e] = x[index_t(Stride) * a.column[e]];
      else out[e] = left * x[index_t(Stride) * a.column[e]];
  }
}

} // namespace tapeless::cpu
