// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// How csr<T, rows, cols, nnz, tiled> is cut: blocks of rows times blocks of columns, so that what a tile reads and
// writes of vectors stays in the first-level cache while its entries pass.
//   block q has the rows [first_row(q), first_row(q + 1)); tile (q, k) the columns [k << col_bits, (k + 1) << col_bits)
//   the tiles stand block by block, in a block by k; the entries of tile (q, k) end at row_end[first_row(q) + k]
// The other elements of row_end are the end of their block: row_end never falls, and ends at nnz.
//
// A tile is cut into segments: up to 15 entries of one row, by columns. Longer segments come before shorter ones, those of
// one length by rows. Eight segments are a group; the entries of a group stand step by step: the first of each of its
// segments, then the second of each that has two, and so on. So a group of one length is a matrix with 8 columns, and
// what is added to a row is added once for a segment.
// Of a tile with n entries, n elements of `columns` hold 2 n numbers of 16 bits: the column of each entry within the tile,
// then the row of each segment within the tile and, above it, the length of the segment. What is left of them is 0.
#pragma once
#include "extent.hpp"

namespace tapeless::detail {

inline constexpr extent_t most_rows_of_tile = 4096; // of any tiling
// Of vectors: by rows, and by columns where a tile is full enough.
inline constexpr extent_t bytes_of_rows = 16384, bytes_of_columns = 16384;

inline constexpr extent_t lanes_of_tile = 8, longest_segment = 15;
inline constexpr int row_bits_of_tile = 12;
static_assert(most_rows_of_tile == 1 << row_bits_of_tile && longest_segment < 1 << (16 - row_bits_of_tile));

// Number `at` of the 16-bit numbers of a tile, whose elements of `columns` begin at `tile`.
inline std::uint16_t number_in_tile(const std::int32_t* tile, extent_t at) {
  std::uint16_t w;
  __builtin_memcpy(&w, reinterpret_cast<const char*>(tile) + 2 * at, sizeof w);
  return w;
}
inline void set_number_in_tile(std::int32_t* tile, extent_t at, extent_t number) {
  const auto w = static_cast<std::uint16_t>(number);
  __builtin_memcpy(reinterpret_cast<char*>(tile) + 2 * at, &w, sizeof w);
}
constexpr extent_t segment_number(extent_t row, extent_t length) { return length << row_bits_of_tile | row; }
constexpr extent_t row_of_segment(extent_t number) { return number & (most_rows_of_tile - 1); }
constexpr extent_t length_of_segment(extent_t number) { return number >> row_bits_of_tile; }

// f(row, length, place) for the segments of a tile of n entries; entry p of the segment, 0 <= p < length, is entry
// place(p) of the tile.   @pre the numbers are those of a csr_tiled(a): a group without a segment would be read for ever
template <class F> void each_segment(const std::int32_t* tile, extent_t n, F f) {
  for (extent_t k = 0, e = 0; e < n; k += lanes_of_tile) {
    const extent_t lanes =
        n - k < lanes_of_tile ? n - k : lanes_of_tile; // numbers there are; 0 stands for no segment
    const auto length = [&](extent_t l) { return length_of_segment(number_in_tile(tile, n + k + l)); };
    extent_t begin[longest_segment + 1] = {e}; // of the steps
    for (extent_t p = 0, l = lanes; p < length(0); ++p) {
      while (length(l - 1) <= p) --l;
      begin[p + 1] = e += l;
    }
    for (extent_t l = 0; l < lanes && length(l) > 0; ++l)
      f(row_of_segment(number_in_tile(tile, n + k + l)), length(l), [&](extent_t p) { return begin[p] + l; });
  }
}

struct tiling {
  extent_t rows = 0, cols = 0, row_blocks = 0, col_blocks = 0;
  int col_bits = 0;

  // 0 <= q <= row_blocks
  constexpr extent_t first_row(extent_t q) const { return row_blocks == 0 ? 0 : q * rows / row_blocks; }
  constexpr extent_t first_col(extent_t k) const { return k << col_bits; }
  // Has every block of rows room for the ends of its tiles?
  constexpr bool fits() const { return row_blocks == 0 || col_blocks <= rows / row_blocks; }
};

// A function of the extents alone. Blocks of at most bytes_of_rows; about 32 of them and more, if they have 256 rows.
// Tiles that would have fewer than 2048 entries on average are wider.
constexpr tiling tiling_of(extent_t rows, extent_t cols, extent_t nnz, extent_t size_of_value) {
  tiling t;
  t.rows = rows;
  t.cols = cols;
  if (rows == 0) return t;
  const extent_t most = bytes_of_rows / size_of_value, of_32 = (rows + 31) / 32;
  const extent_t in_block = of_32 < 256 ? 256 : of_32 > most ? most : of_32;
  const auto cut = [&](extent_t size) { return (rows + size - 1) / size; };
  // a block has a row for the end of each of its tiles, which have at most 65536 columns
  const extent_t widest = (cols + 65535) / 65536, room = widest > 0 ? rows / widest : rows;
  t.row_blocks = cut(in_block);
  if (t.row_blocks > room) t.row_blocks = room > cut(most) ? room : cut(most);
  while (extent_t{1} << t.col_bits < bytes_of_columns / size_of_value) ++t.col_bits;
  const auto blocks = [&] { return cols == 0 ? 1 : ((cols - 1) >> t.col_bits) + 1; };
  t.col_blocks = blocks();
  while (t.col_bits < 16 && t.col_blocks > 1 && (!t.fits() || nnz / (t.row_blocks * t.col_blocks) < 2048)) {
    ++t.col_bits;
    t.col_blocks = blocks();
  }
  return t;
}

} // namespace tapeless::detail
