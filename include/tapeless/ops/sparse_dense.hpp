// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Between a dense (m, n) matrix and a sparse one of the same extents, with the entries a_e at (i_e, j_e):
//   entries_of   y_e = d[i_e, j_e]
//   dense_of     y[i_e, j_e] = a_e, and 0 elsewhere
// Each is linear, and its vjp is the other.
#pragma once
#include "shape.hpp"
#include "spmm.hpp"

namespace tapeless::detail {

// attr of both: in_tiles, and
inline constexpr std::uint64_t entries_wide = 1; // the row ends are int64

constexpr int beside_dense(graph& g, op o, int pattern, int x, const shape& s) {
  return g.intern({.o = o,
                   .t = g[x].t,
                   .in = {pattern, dense(g, x), no_node},
                   .attr = tiles_of(g, pattern) | (has_wide_row_ends(g, pattern) ? entries_wide : 0),
                   .s = s});
}
// @pre d is (rows, cols)
constexpr int entries_of(graph& g, int pattern, int d) {
  return beside_dense(g, op::entries_of, pattern, d, shape{1, {nnz_of_pattern(g[pattern])}});
}
// @pre values has an element for each entry
constexpr int dense_of(graph& g, int pattern, int values) {
  const shape s{2, {g[pattern].s.d[0], cols_of_pattern(g[pattern])}};
  return beside_dense(g, op::dense_of, pattern, values, s);
}
constexpr void entries_of_vjp(vjp_context& c) {
  if (c.needs(1)) c.give(1, {&c.g, dense_of(c.g, c.v.in[0], c.bar.node)});
}
constexpr void dense_of_vjp(vjp_context& c) {
  if (c.needs(1)) c.give(1, {&c.g, entries_of(c.g, c.v.in[0], c.bar.node)});
}
inline constexpr op_rule sparse_dense_rules[] = {
    {op::entries_of, "entries_of", kind::kernel, no_flops, no_facts, entries_of_vjp},
    {op::dense_of, "dense_of", kind::kernel, no_flops, no_facts, dense_of_vjp}};

} // namespace tapeless::detail
