// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A dense matrix d, (rows, columns), beside a sparse one with entries at (i_e, j_e):
//   entries_of   y[e] = d[i_e, j_e]          dense_of   y[i_e, j_e] = values[e], and 0 elsewhere
#pragma once
#include <algorithm>
#include "../../core/csr_tiles.hpp"
#include "../../expr/op.hpp"
#include "../../ops/sparse_dense.hpp"
#include "../../ops/spmm.hpp"
#include "../base/operand.hpp"
#include "csr.hpp"
#include "tiles.hpp"
#include "../../plan/ir/step.hpp"

namespace tapeless::cpu {

// Calls act(first row, last row + 1, each) for blocks of rows, in parallel. each(f) calls f(entry, row, column) for
// its entries.
template <class Team, class Ends, class Act>
void each_block_of_rows(const Team& team, const csr_rows<Ends>& a, index_t rows, Act act) {
  constexpr index_t size = 64;
  team.run((rows + size - 1) / size, [&](index_t block, int) {
    const index_t lo = block * size, hi = std::min(rows, lo + size);
    act(lo, hi, [&](auto f) {
      for (index_t i = lo; i < hi; ++i)
        for (index_t e = a.begin(i); e < a.end[i]; ++e) f(e, i, index_t{a.column[e]});
    });
  });
}
template <class Team, class Act>
void each_block_of_rows(const Team& team, const csr_tiles& a, index_t, Act act) {
  team.run(a.t.row_blocks, [&](index_t q, int) {
    act(a.t.first_row(q), a.t.first_row(q + 1), [&](auto f) { each_entry(a, q, f); });
  });
}

template <class T, class Team, class Matrix>
void entries_of(const Team& team, const Matrix& a, index_t rows, index_t columns, const T* d, T* y) {
  each_block_of_rows(team, a, rows, [&](index_t, index_t, auto each) {
    each([&](index_t e, index_t i, index_t j) { y[e] = d[i * columns + j]; });
  });
}
template <class T, class Team, class Matrix>
void dense_of(const Team& team, const Matrix& a, index_t rows, index_t columns, const T* values, T* y) {
  each_block_of_rows(team, a, rows, [&](index_t lo, index_t hi, auto each) {
    std::fill(y + lo * columns, y + hi * columns, T(0));
    each([&](index_t e, index_t i, index_t j) { y[i * columns + j] = values[e]; });
  });
}

// ---- steps
// act(matrix, rows, columns): the pattern of the step, and the extents of s, the dense matrix
template <class T, class Act> void with_pattern(const kernel_call<T>& c, const shape& s, Act act) {
  const index_t rows = s.d[0], columns = s.d[1];
  if ((c.step.attr & detail::in_tiles) != 0)
    act(csr_tiles{detail::tiling_of(rows, columns, c.operand(0).d[0], sizeof(T)), c.index(1), c.index(0)},
        rows, columns);
  else
    act(csr_rows{row_ends{c.frame.slot[1].data(), (c.step.attr & detail::entries_wide) != 0}, c.index(0)},
        rows, columns);
}
template <> struct kernel_for<detail::op::entries_of> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    with_pattern(c, c.operand(2), [&](const auto& a, index_t rows, index_t columns) {
      entries_of<T>(team, a, rows, columns, c.in(2), c.out());
    });
  }
};
template <> struct kernel_for<detail::op::dense_of> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    with_pattern(c, c.result(), [&](const auto& a, index_t rows, index_t columns) {
      dense_of<T>(team, a, rows, columns, c.in(2), c.out());
    });
  }
};

} // namespace tapeless::cpu
