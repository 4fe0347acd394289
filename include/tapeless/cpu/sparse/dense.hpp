// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A dense matrix d, (rows, columns), beside a sparse one with entries at (i_e, j_e):
//   entries_of   y[e] = d[i_e, j_e]          dense_of   y[i_e, j_e] = values[e], and 0 elsewhere
#pragma once
#include <algorithm>
#include "../base/simd.hpp"
#include "csr.hpp"
#include "tiles.hpp"

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

} // namespace tapeless::cpu
