// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A CSR sweep: steps that pass over the rows of one sparse matrix together, so that its entries are read once.
//   z = A x;  r = f(z, ...);  g = A^T r      each row's entries are in L1 between the first and the last of them
// It is a sweep (sweep.hpp) that a product with the matrix opens. Here: which steps may be in it.
#pragma once
#include "../../expr/node.hpp"
#include "../../ops/spmm.hpp"

namespace tapeless::detail {

constexpr bool is_sparse(op o) { return o == op::spmm || o == op::sddmm; }
// A product with a dense matrix opens none: such products take longer together than one by one, for rows of the dense
// matrix leave the cache.
constexpr bool opens_csr_sweep(const node* nodes, int i) {
  const node& v = nodes[i];
  if (v.o == op::spmm) return v.s.rank == 1;
  return v.o == op::sddmm && (v.in[1] < 0 || nodes[v.in[1]].s.rank == 1);
}
// The operand with a row for each row of the matrix; 0: the result has these rows, or the operand is all ones.
constexpr int operand_of_rows(const node& v) {
  const int k = v.o == op::sddmm ? 1 : (v.attr & spmm_transposed) != 0 ? 2 : 0;
  return k > 0 && v.in[k] >= 0 ? k : 0;
}
constexpr bool makes_rows(const node& v) { return v.o == op::spmm && (v.attr & spmm_transposed) == 0; }

inline constexpr extent_t widest_row = 4; // elements that a fused step may have for a row of the matrix
// Elements of a row, along all axes but the first one; -1 where these are not static.
constexpr extent_t row_of(const shape& s) {
  extent_t row = 1;
  for (int a = 1; a < s.rank; ++a) row = row >= 0 && is_static(s.d[a]) ? row * s.d[a] : -1;
  return row;
}
// Has the loop such rows, of at most `widest` elements?
constexpr bool is_loop_over_rows(const shape& it, extent_t rows, extent_t widest = widest_row) {
  if (it.rank == 0 || it.d[0] != rows) return false;
  const extent_t row = row_of(it);
  return row >= 0 && row <= widest;
}

} // namespace tapeless::detail
