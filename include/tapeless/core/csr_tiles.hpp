// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// How csr<T, rows, cols, nnz, tiled> is cut: blocks of rows times blocks of columns, so that what a tile reads and writes
// of vectors stays in the first-level cache while its entries pass.
//   block q has the rows [first_row(q), first_row(q + 1)); tile (q, k) the columns [k << col_bits, (k + 1) << col_bits)
//   the tiles stand block by block, in a block by k; the entries of tile (q, k) end at row_end[first_row(q) + k]
//   entry e of a tile is values[e], at (row << col_bits | column) = columns[e], both counted within the tile
// The other elements of row_end are the end of their block: row_end never falls, and ends at nnz.
#pragma once
#include "extent.hpp"

namespace tapeless::detail {

inline constexpr extent_t most_rows_of_tile = 4096; // of any tiling
inline constexpr extent_t bytes_of_tile = 16384;    // of a vector, by rows and, unless the matrix is very sparse, by columns

struct tiling {
  extent_t rows = 0, cols = 0, row_blocks = 0, col_blocks = 0;
  int col_bits = 0;

  // 0 <= q <= row_blocks
  constexpr extent_t first_row(extent_t q) const { return row_blocks == 0 ? 0 : q * rows / row_blocks; }
  constexpr extent_t first_col(extent_t k) const { return k << col_bits; }
};

// A function of the extents alone. At most 32 blocks of 256 rows and more, or as many as have most_rows_of_tile;
// tiles that would have fewer than 2048 entries on average are made wider.
// @post col_blocks <= the rows of any block; row and column of an entry have 32 bits together
constexpr tiling tiling_of(extent_t rows, extent_t cols, extent_t nnz, extent_t size_of_value) {
  tiling t;
  t.rows = rows;
  t.cols = cols;
  if (rows == 0) return t;
  const extent_t most = bytes_of_tile / size_of_value;
  extent_t in_block = (rows + 31) / 32;
  in_block = in_block < 256 ? 256 : in_block > most ? most : in_block;
  t.row_blocks = (rows + in_block - 1) / in_block;
  const extent_t fewest = rows / t.row_blocks, largest = fewest + (rows % t.row_blocks != 0 ? 1 : 0);
  int row_bits = 0;
  while (extent_t{1} << row_bits < largest) ++row_bits;
  const int most_bits = row_bits == 0 ? 31 : 32 - row_bits;
  while (extent_t{1} << t.col_bits < most) ++t.col_bits;
  const auto count = [&] { return cols == 0 ? 1 : ((cols - 1) >> t.col_bits) + 1; };
  while (t.col_bits < most_bits && count() > 1 &&
         (count() > fewest || nnz / (t.row_blocks * count()) < 2048))
    ++t.col_bits;
  t.col_blocks = count();
  return t;
}

} // namespace tapeless::detail
