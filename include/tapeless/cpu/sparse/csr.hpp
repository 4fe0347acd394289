// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// CSR matrices times vectors, their transposes, and how both are cut into chunks.
// a: (M, N) in rows of entries; e counts the entries of all rows, k the rows that are visited, i = rows(k).
//   spmv             y[k]         = sum_e values[e] * x[column[e]]          x: (N)   y: (rows visited)
//   spmv_transposed  g[column[e]] += values[e] * r[k]                       r: (rows visited)   g: (N)
//   spread           out[e]       = l[k] * x[column[e]]                     out: (entries)
// Stride: element j of x and g lies at [Stride * j]. With 2 a value and its gradient lie side by side. Then what spmv
// has loaded is in L1 when spmv_transposed comes to the same row.
// A sum over the entries of a row has one order, whatever the range of rows, their choice and Stride.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../base/long_sums.hpp"
#include "../base/partial_vector.hpp"

namespace tapeless::cpu {

/// Row i holds the entries [begin(i), end[i]); the columns of a row ascend and are unique. Neither array is read past
/// the last entry. Ends points to int32, or to int64 where there may be 2^31 entries or more.
template <class Ends> struct csr_rows {
  Ends end;                   // (M)
  const std::int32_t* column; // (entries)
  index_t begin(index_t i) const { return i == 0 ? 0 : end[i - 1]; }
};
template <class Ends> csr_rows(Ends, const std::int32_t*) -> csr_rows<Ends>;
/// Ends of either type.
struct row_ends {
  const void* end; // (M)
  bool wide;       // int64
  index_t operator[](index_t i) const {
    return wide ? static_cast<const std::int64_t*>(end)[i] : static_cast<const std::int32_t*>(end)[i];
  }
};

/// Which rows are visited. ahead(): the distance, in entries, from row k to the next rows that come from memory.
struct every_row {
  constexpr index_t operator()(index_t k) const { return k; }
  static constexpr index_t ahead(const auto&, index_t) { return 1024; }
};
struct listed_rows {
  const std::int32_t* row; // ascending
  index_t count;
  index_t far = 4; // in rows
  index_t operator()(index_t k) const { return row[k]; }
  index_t ahead(const auto& a, index_t k) const {
    return a.begin(row[k + far < count ? k + far : count - 1]) - a.begin(row[k]);
  }
};

/// What spmv_transposed prefetches while it adds: nothing, or x beside g for the rows that spmv visits next. These are
/// as many rows as its own, right after them, and end at `until`.
struct nothing_next {};
struct rows_next {
  index_t until, nnz;
};
/// L1 keeps what this many entries touch, and what the next ones will touch: 512 lines of x and g.
inline constexpr index_t entries_at_hand = 256;
/// L2 keeps this much of entries that are read twice.
inline constexpr index_t bytes_in_second_level = 512 * 1024;

/// An array of ones: no product with it is computed.
struct ones {};

/// The first i in [0, n] with before(i) >= the share of the chunks before `chunk` in `total`. before ascends; n if none.
template <class Before> constexpr index_t begin_of_share(index_t total, index_t n, index_t chunk,
                                                         index_t chunks, const Before& before) {
  const index_t target = total / chunks * chunk + total % chunks * chunk / chunks;
  index_t lo = 0, hi = n;
  while (lo < hi) {
    const index_t i = lo + (hi - lo) / 2;
    if (before(i) >= target) hi = i;
    else lo = i + 1;
  }
  return lo;
}
/// First row of chunk `chunk` of `chunks`, which have about equal numbers of entries + rows. 0 for the first, `rows`
/// for chunk == chunks, ascending between. A chunk exceeds its share by less than the largest row + 1.
template <class End>
constexpr index_t chunk_of_rows(const End* end, index_t rows, index_t nnz, index_t chunk, index_t chunks) {
  return begin_of_share(nnz + rows, rows, chunk, chunks,
                        [=](index_t i) { return (i == 0 ? 0 : end[i - 1]) + i; });
}

/// Writes the rows of [lo, hi) whose weight is not 0 (Zeros: is 0) to `out`, which has room for hi - lo. Returns their
/// number.
template <class T, bool Zeros = false> index_t compact_rows(const T* weight, index_t lo, index_t hi,
                                                            std::int32_t* out) {
  index_t count = 0;
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>)
    for (; lo + 16 <= hi; lo += 16)
      count += store_places<Zeros>(weight + lo, static_cast<std::int32_t>(lo), out + count);
#endif
  for (index_t i = lo; i < hi; ++i) {
    out[count] = static_cast<std::int32_t>(i);
    count += (weight[i] == T(0)) == Zeros ? 1 : 0;
  }
  return count;
}

/// Keeps the rows of a list of `count` whose weight is not 0 (Zeros: is 0). Returns their number.
template <class T, bool Zeros = false>
index_t thin_rows(const T* weight, index_t count, std::int32_t* list) {
  index_t kept = 0;
  for (index_t k = 0; k < count; ++k) {
    const std::int32_t i = list[k];
    list[kept] = i;
    kept += (weight[i] == T(0)) == Zeros ? 1 : 0;
  }
  return kept;
}

/// The entries of one long row as row_pieces rows of about equal length.
inline constexpr index_t row_pieces = 16;
struct piece_ends {
  index_t entries;
  constexpr index_t operator[](index_t p) const { return entries * (p + 1) / row_pieces; }
};
template <class Ends> csr_rows<piece_ends> pieces_of_row(const csr_rows<Ends>& a, index_t i) {
  return {{a.end[i] - a.begin(i)}, a.column + a.begin(i)};
}
/// Writes the rows that hold a whole share of the entries to `row`, ascending, and returns their number. At most 16
/// members share the entries, and none gets less than 8192. A row of two shares is found, none of less than one.
inline constexpr index_t most_long_rows = 16;
template <class End> index_t find_long_rows(const End* end, index_t rows, index_t nnz, index_t* row) {
  const index_t shares = nnz / 8192 < most_long_rows ? nnz / 8192 : most_long_rows;
  index_t count = 0, before = -1;
  for (index_t s = 0; s <= shares && shares > 0; ++s) {
    const index_t entry =
        s < shares ? nnz / shares * s + nnz % shares * s / shares : nnz - 1; // the first of share s
    const index_t i = std::upper_bound(end, end + rows, entry) - end;
    if (i == before && (count == 0 || row[count - 1] != i)) row[count++] = i;
    before = i;
  }
  return count;
}

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
