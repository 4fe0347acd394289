// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Lists of few rows. lists_rows: is an index such a list? densifies: does a cotangent of few rows become a tensor with
// all of them?
#pragma once
#include "../../ops/all.hpp"

namespace tapeless::detail {

// Is it a cotangent that is zero but for the rows of a list?
constexpr bool is_zero_elsewhere(const node& v) {
  return v.o == op::scatter_add && v.adjoint && v.attr == 0 && v.in[2] < 0;
}

// The value of an extent that only a run knows, for estimates of cost.
inline constexpr extent_t assumed_extent = 1024;
constexpr extent_t assumed(extent_t e) { return is_static(e) ? e : coefficient(e) * assumed_extent; }
// Is v, the index of a gather or scatter_add along an axis of extent n, a list of few rows? It is if it is a selection,
// or has one axis with at most 3 indices for 4 rows. An index may repeat.
constexpr bool lists_rows(const node& v, extent_t n) {
  return v.o == op::select || (v.s.rank == 1 && 4 * assumed(v.s.d[0]) <= 3 * assumed(n));
}
// The same for node x; a list that is gathered from such a list counts, too.
constexpr bool lists_rows(const node* nodes, int x, extent_t n) {
  while (rule(nodes[x].o).k == kind::view || nodes[x].o == op::copy) x = nodes[x].in[0];
  const node& v = nodes[x];
  if (v.o != op::gather || v.s.rank != 1) return lists_rows(v, n);
  const node& list = nodes[v.in[0]];
  return lists_rows(v, n) ||
         (list.s.rank == 1 && lists_rows(nodes, v.in[0], n) && lists_rows(nodes, v.in[1], list.s.d[0]));
}
// Is node i a cotangent that is zero outside some rows, stored with all of them (or added to such a tensor), and read
// by more than sums that are results? Not counted are
//   the gradient of a table of lookups    only sums of it are results
//   y_bar in A^T y_bar, A sparse          only the rows of A that belong to nonzero rows of y_bar are read
//   rows of a mask among the rows that another mask keeps
//   integers                              they are positions of rows in lists
constexpr bool densifies(const node* nodes, int size, int i) {
  const node& v = nodes[i];
  if (v.o != op::scatter_add || !v.adjoint || v.t == dtype::i32) return false;
  const extent_t n = v.s.d[static_cast<int>(v.attr)];
  const extent_t count = numel(nodes[v.in[1]].s);
  if (has_generated_name(n) && has_generated_name(count)) return false;
  const bool fewer = is_static(count) && is_static(n) && count < n;
  if (!fewer && !lists_rows(nodes, v.in[1], n)) return false;
  constexpr char other = 0, itself = 1, term = 2;
  vec<char> is(size, other);
  is[i] = is_zero_elsewhere(v) ? itself : term;
  for (int j = i + 1; j < size; ++j)
    for (int k = 0; k < 3; ++k) {
      const node& w = nodes[j];
      if (w.in[k] < 0 || is[w.in[k]] == other) continue;
      const bool same = w.o == op::neg || w.o == op::copy || rule(w.o).k == kind::view;
      const bool adds = w.o == op::add || w.o == op::sub || (w.o == op::scatter_add && k == 2);
      const bool skips =
          is[w.in[k]] == itself && w.o == op::spmm && (w.attr & spmm_transposed) != 0 && k == 2;
      if (skips) continue;
      if (!same && !adds) return true;
      is[j] = same && is[j] != term ? is[w.in[k]] : term;
    }
  return false;
}

} // namespace tapeless::detail
