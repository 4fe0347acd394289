// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which lines of a sparse matrix an op reads, on a back end that takes entries line by line (plan_rules::sorts): its rows as
// they are, or lines that are made before: its columns, or the rows of a tiled matrix.
#pragma once
#include "../../expr/node.hpp"
#include "../../ops/spgemm.hpp"
#include "../../ops/spmm.hpp"

namespace tapeless::detail {

// Lines that are made of the pattern; no_node: none are.
struct lines_of_matrix {
  int pattern = no_node;
  bool columns = false;
  constexpr bool is(const lines_of_matrix& b) const { return pattern == b.pattern && columns == b.columns; }
};
constexpr lines_of_matrix lines_read(const node* nodes, int i) {
  const node& v = nodes[i];
  if (v.o == op::spgemm)
    return made_by_spgemm(v.attr) == spgemm_b ? lines_of_matrix{nodes[v.in[0]].in[0], true}
                                              : lines_of_matrix{};
  const bool products = v.o == op::spmm || v.o == op::sddmm,
             beside_dense = v.o == op::entries_of || v.o == op::dense_of;
  if (!products && !beside_dense && v.o != op::sparse_solve) return {};
  const bool columns = !beside_dense && v.o != op::sddmm && (v.attr & spmm_transposed) != 0;
  return columns || nodes[v.in[0]].o == op::tiles ? lines_of_matrix{v.in[0], columns} : lines_of_matrix{};
}

} // namespace tapeless::detail
