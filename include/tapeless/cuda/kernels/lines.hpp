// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The entries of a sparse matrix line by line: its rows, or its columns with entries by ascending rows. Rows are what CSR has;
// columns, and the rows of a tiled matrix, are made of it.
#pragma once
#include "../base/block.hpp"
#include "../base/sums.hpp"

namespace tapeless::cuda {

// Line i has the places [begin(i), end_of(i)).
struct sparse_lines {
  const void* end;
  const std::int32_t* cross; // of a place: the column if lines are rows, the row if they are columns
  const count_t* entry;      // of a place: nullptr if it is its number
  bool wide;                 // ends are of 64 bits

  TAPELESS_KERNEL count_t end_of(count_t i) const {
    return wide ? static_cast<count_t>(static_cast<const std::int64_t*>(end)[i])
                : static_cast<const count_t*>(end)[i];
  }
  TAPELESS_KERNEL count_t begin(count_t i) const { return i == 0 ? 0 : end_of(i - 1); }
  TAPELESS_KERNEL count_t entry_of(count_t place) const { return entry == nullptr ? place : entry[place]; }
  // The line that has the place, of so many lines.
  TAPELESS_KERNEL count_t line_of(count_t place, count_t lines) const {
    count_t lo = 0, hi = lines;
    while (lo < hi) {
      const count_t middle = lo + (hi - lo) / 2;
      if (end_of(middle) > place) hi = middle;
      else lo = middle + 1;
    }
    return lo;
  }
  // The first place of line i with cross >= c; end_of(i) if there is none.   @pre the crosses of a line ascend
  TAPELESS_KERNEL count_t first_from(count_t i, count_t c) const {
    count_t lo = begin(i), hi = end_of(i);
    while (lo < hi) {
      const count_t middle = lo + (hi - lo) / 2;
      if (static_cast<count_t>(cross[middle]) >= c) hi = middle;
      else lo = middle + 1;
    }
    return lo;
  }
};

// What a lane has summed; a shuffle moves it.
template <class T> struct sum_of_lane {
  T x[1];
};
template <class T> struct add_lanes {
  TAPELESS_KERNEL void operator()(sum_of_lane<T>& a, const sum_of_lane<T>& b) const { a.x[0] += b.x[0]; }
};
// The sum of term(p) over p = begin + lane, begin + lane + G, ..., in chains: rounding errors stay small.
template <int G, class T, class Term>
TAPELESS_KERNEL sum_of_lane<T> sum_of_terms(count_t begin, count_t end, count_t lane, Term term) {
  long_sum<T> sum;
  for (count_t p = begin + lane; p < end;) {
    T part(0);
    for (int k = 0; k < 32 && p < end; ++k, p += G) part += term(p);
    sum.add(part);
  }
  return {{sum.value()}};
}

// The lines of a matrix from its CSR rows: cross[place] = row of entry[place]
struct row_of_place_kernel {
  sparse_lines rows;
  const count_t* entry;
  std::int32_t* cross;
  count_t places, lines; // lines: rows
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(places,
               [this](count_t p) { cross[p] = static_cast<std::int32_t>(rows.line_of(entry[p], lines)); });
  }
};

// ---- of a tiled matrix, see core/csr_tiles.hpp
// The row and the column of each entry, a thread a tile.
struct tile_entries_kernel {
  const std::int32_t *numbers, *end;
  std::int32_t *row, *column;
  index_t rows, row_blocks, col_blocks;
  int col_bits, row_bits, lanes;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(static_cast<count_t>(row_blocks * col_blocks), [this](count_t t) {
      const index_t q = t / col_blocks, k = t % col_blocks, first_row = q * rows / row_blocks,
                    at = first_row + k, begin = at == 0 ? 0 : end[at - 1], n = end[at] - begin;
      const std::int32_t* const tile = numbers + begin;
      const auto number = [tile](index_t i) {
        return (static_cast<std::uint32_t>(tile[i / 2]) >> (16 * (i % 2))) & 0xffffu;
      };
      for (index_t segment = 0, e = 0; e < n && segment < n; segment += lanes)
        for (std::uint32_t step = 0; step < number(n + segment) >> row_bits; ++step)
          for (index_t l = segment; l < segment + lanes && l < n && number(n + l) >> row_bits > step;
               ++l, ++e) {
            row[begin + e] = static_cast<std::int32_t>(first_row + (number(n + l) & ((1u << row_bits) - 1u)));
            column[begin + e] = static_cast<std::int32_t>((k << col_bits) + number(e));
          }
    });
  }
};
// to[place] = of[entry[place]]
template <class T> struct entries_by_place_kernel {
  const T* of;
  const count_t* entry;
  T* to;
  count_t places;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(places, [this](count_t p) { to[p] = of[entry[p]]; });
  }
};

// ---- for libraries
// Lines with crosses below a number, and matrices of k columns beside them.
struct line_extents {
  index_t lines, crosses, entries, k;
  constexpr bool operator==(const line_extents&) const = default;
};
// Where each line begins, and where the last one ends.
struct line_offsets_kernel {
  sparse_lines a;
  count_t* offset;
  count_t lines;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(lines + 1, [this](count_t i) { offset[i] = a.begin(i); });
  }
};

} // namespace tapeless::cuda
