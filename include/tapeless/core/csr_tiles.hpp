// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The tiles of csr<T, rows, cols, nnz, tiled>: blocks of rows times blocks of columns. The vector elements that a tile
// reads and writes stay in the first-level cache while its entries are processed.
//   block q has the rows [first_row(q), first_row(q + 1)); tile (q, k) the columns [k << col_bits, (k + 1) << col_bits)
//   tiles are stored block by block, within a block by k; the entries of tile (q, k) end at row_end[first_row(q) + k]
// The other elements of row_end hold the end of their block: row_end never decreases, and ends at nnz.
//
// A tile is cut into segments: up to 15 entries of one row, by columns. Longer segments come first, those of one length
// by rows. Eight segments are a group. The entries of a group are stored step by step: the first of each segment, then
// the second of each that has two, and so on. So a group of one length is a matrix with 8 columns, and each segment is
// added to its row once.
// For a tile with n entries, n elements of `columns` hold 2 n 16-bit numbers: the column of each entry within the tile,
// then for each segment its row within the tile in the low bits and its length in the high bits. The rest is 0.
#pragma once
#include "extent.hpp"

namespace tapeless::detail {

inline constexpr extent_t most_rows_of_tile = 4096; // of any tiling
// Bytes of the vectors over the rows and over the columns of a tile: half a 32 KiB first-level cache each. They fix how
// a matrix is stored, whichever machine runs it: no cost model may change them.
inline constexpr extent_t bytes_of_rows = 16384, bytes_of_columns = 16384;

inline constexpr extent_t lanes_of_tile = 8, longest_segment = 15;
inline constexpr int row_bits_of_tile = 12;
static_assert(most_rows_of_tile == 1 << row_bits_of_tile && longest_segment < 1 << (16 - row_bits_of_tile));

// The 16-bit number at position `at` of a tile whose elements of `columns` begin at `tile`.
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
// place(p) of the tile.   @pre the numbers are those of a csr_tiled(a): a group without a segment would never end
template <class F> void each_segment(const std::int32_t* tile, extent_t n, F f) {
  for (extent_t k = 0, e = 0; e < n; k += lanes_of_tile) {
    const extent_t lanes = n - k < lanes_of_tile ? n - k : lanes_of_tile; // numbers left; 0 is no segment
    const auto length = [&](extent_t l) { return length_of_segment(number_in_tile(tile, n + k + l)); };
    extent_t begin[longest_segment + 1] = {e}; // of each step
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
  // Does every block have enough rows to hold the ends of its tiles?
  constexpr bool fits() const { return row_blocks == 0 || col_blocks <= rows / row_blocks; }
};

// Depends on the extents only. Blocks have at most bytes_of_rows; there are about 32 or more of them if they have 256
// rows. Tiles get wider until they have 2048 entries on average.
constexpr tiling tiling_of(extent_t rows, extent_t cols, extent_t nnz, extent_t size_of_value) {
  tiling t;
  t.rows = rows;
  t.cols = cols;
  if (rows == 0) return t;
  const extent_t most = bytes_of_rows / size_of_value, of_32 = (rows + 31) / 32;
  const extent_t in_block = of_32 < 256 ? 256 : of_32 > most ? most : of_32;
  const auto cut = [&](extent_t size) { return (rows + size - 1) / size; };
  // a block has one row for the end of each of its tiles; a tile has at most 65536 columns
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
