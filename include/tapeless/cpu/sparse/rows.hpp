// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The rows of a CSR matrix: all of them, those of a list or a mask, and how threads share them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include "../base/partial_vector.hpp"
#include "../base/simd.hpp"
#include "../base/simd/index.hpp"

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

} // namespace tapeless::cpu
