// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// How csr<T, rows, cols, nnz, tiled> is cut: blocks of rows times blocks of columns, so that what a tile reads and
// writes of vectors stays in the first-level cache while its entries pass.
//   block q has the rows [first_row(q), first_row(q + 1)); tile (q, k) the columns [k << col_bits, (k + 1) << col_bits)
//   the tiles stand block by block, in a block by k; the entries of tile (q, k) end at row_end[first_row(q) + k]
//   entry e of a tile is values[e], at the place columns[e]: row and column within the tile, 16 bits each
// The other elements of row_end are the end of their block: row_end never falls, and ends at nnz.
#pragma once
#include "extent.hpp"

namespace tapeless::detail {

inline constexpr extent_t most_rows_of_tile = 4096; // of any tiling
// Of vectors: by rows, and by columns where a tile is full enough.
inline constexpr extent_t bytes_of_rows = 16384, bytes_of_columns = 16384;

constexpr std::int32_t place_in_tile(extent_t row, extent_t col) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(row) << 16 | static_cast<std::uint32_t>(col));
}
constexpr extent_t row_in_tile(std::int32_t place) { return static_cast<std::uint32_t>(place) >> 16; }
constexpr extent_t col_in_tile(std::int32_t place) { return static_cast<std::uint32_t>(place) & 65535u; }

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
