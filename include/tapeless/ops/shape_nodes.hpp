// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Builders of the nodes that move elements: reshape, transpose, slice, pad, concat, flip, and dense, which copies a view.
// Shapes are passed by value: a reference into the graph is invalid once the graph grows.
#pragma once
#include "simplify.hpp" // IWYU pragma: export

namespace tapeless::detail {

// A kernel reads its operand as one dense block: a view is copied first.
constexpr int dense(graph& g, int a) {
  const op o = g[a].o;
  const bool view = o == op::expand || o == op::transpose || o == op::slice || o == op::constant ||
                    o == op::extent || o == op::iota;
  if (!view) return a;
  return g.intern({.o = op::copy, .t = g[a].t, .in = {a, no_node, no_node}, .s = g[a].s});
}

// @pre numel(g[a].s) == numel(s)
constexpr int reshape(graph& g, int a, shape s) {
  if (g[a].s == s) return a;
  if (g[a].o == op::reshape) return reshape(g, g[a].in[0], s);
  if (g[a].o == op::expand && g[g[a].in[0]].s.rank == 0) return expand(g, g[a].in[0], s);
  if (g.is_constant(a) || g[a].o == op::extent) return expand(g, a, s);
  if (const int k = g.in_adjoint ? branch_beside_zero(g, a) : 0;
      k > 0 && squeezed(g[a].s) == squeezed(s) && g[g[a].in[0]].s == g[a].s) {
    // Only axes of extent 1 change: the zero stays exact, as in binary.
    node w = g[a];
    const int d = w.in[k];
    if (g[d].s == w.s || g[d].s.rank == 0) {
      w.in[0] = reshape(g, w.in[0], s);
      return with_branch(g, w, k, g[d].s.rank == 0 ? d : reshape(g, d, s));
    }
  }
  return g.intern({.o = op::reshape, .t = g[a].t, .in = {dense(g, a), no_node, no_node}, .s = s});
}

// perm: four bits for each axis; axis i of the result is axis perm_i of the operand
constexpr int perm_axis(std::uint64_t perm, int i) { return static_cast<int>((perm >> (4 * i)) & 15); }
constexpr int transpose(graph& g, int a, std::uint64_t perm) {
  const int rank = g[a].s.rank;
  if (g[a].o == op::transpose) {
    std::uint64_t both = 0;
    for (int i = 0; i < rank; ++i)
      both |= static_cast<std::uint64_t>(perm_axis(g[a].attr, perm_axis(perm, i))) << (4 * i);
    return transpose(g, g[a].in[0], both);
  }
  bool identity = true;
  node v;
  v.s.rank = rank;
  for (int i = 0; i < rank; ++i) {
    v.s.d[i] = g[a].s.d[perm_axis(perm, i)];
    identity = identity && perm_axis(perm, i) == i;
  }
  if (identity) return a;
  v.o = op::transpose;
  v.t = g[a].t;
  v.attr = perm;
  v.in[0] = a;
  return g.intern(v);
}
constexpr std::uint64_t inverse_perm(std::uint64_t perm, int rank) {
  std::uint64_t r = 0;
  for (int i = 0; i < rank; ++i) r |= static_cast<std::uint64_t>(i) << (4 * perm_axis(perm, i));
  return r;
}
// the last two axes exchanged
constexpr std::uint64_t matrix_perm(int rank) {
  std::uint64_t r = 0;
  for (int i = 0; i < rank; ++i) {
    const int from = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
    r |= static_cast<std::uint64_t>(from) << (4 * i);
  }
  return r;
}

// a node like a, with another extent of one axis
constexpr node along_axis(const graph& g, op o, int a, int axis, extent_t extent) {
  node v{.o = o, .t = g[a].t, .attr = static_cast<std::uint64_t>(axis), .s = g[a].s};
  v.in[0] = a;
  v.s.d[axis] = extent;
  return v;
}
// elements [begin, begin + extent) along one axis
constexpr int slice(graph& g, int a, int axis, extent_t begin, extent_t extent) {
  if (extent == g[a].s.d[axis]) return a;
  node v = along_axis(g, op::slice, a, axis, extent);
  v.attr2 = static_cast<std::uint64_t>(begin);
  return g.intern(v);
}
// lo zeros before and hi zeros after along one axis
constexpr int pad(graph& g, int a, int axis, extent_t lo, extent_t hi) {
  if (lo == 0 && hi == 0) return a;
  node v = along_axis(g, op::pad, a, axis, g[a].s.d[axis] + lo + hi);
  if (g[a].s.d[axis] == 0) return zeros(g, v.t, v.s);
  v.attr2 = static_cast<std::uint64_t>(lo);
  v.in[0] = dense(g, a);
  return g.intern(v);
}
constexpr int concat(graph& g, int a, int b, int axis) {
  node v = along_axis(g, op::concat, a, axis, g[a].s.d[axis] + g[b].s.d[axis]);
  v.in[0] = dense(g, a);
  v.in[1] = dense(g, b);
  return g.intern(v);
}
// twice along one axis: a
constexpr int flip(graph& g, int a, int axis) {
  if (g[a].s.d[axis] == 1) return a;
  if (g[a].o == op::flip && g[a].attr == static_cast<std::uint64_t>(axis)) return g[a].in[0];
  node v = along_axis(g, op::flip, a, axis, g[a].s.d[axis]);
  v.in[0] = dense(g, a);
  return g.intern(v);
}

} // namespace tapeless::detail
