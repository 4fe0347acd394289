// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which nodes are the constant 0.
#pragma once
#include <bit>
#include "rule.hpp" // IWYU pragma: export

namespace tapeless::detail {

// Skips expand: f(expand(a), b) = expand(f(a, b)).
// v: node a
constexpr int unexpanded(const node& v, int a) { return v.o == op::expand ? v.in[0] : a; }
constexpr int unexpanded(const graph& g, int a) { return unexpanded(g[a], a); }
// Is node a the constant 0, or that repeated?
template <class Nodes> constexpr bool is_zero(const Nodes& nodes, int a) {
  const node& c = nodes[unexpanded(nodes[a], a)];
  return c.o == op::constant && std::bit_cast<double>(c.attr) == 0;
}
// The operand of where(c, a, b) whose other branch is the constant 0: 1 or 2; 0: there is none.
constexpr int branch_beside_zero(const graph& g, int i) {
  const node& w = g[i];
  if (w.o != op::where) return 0;
  return g.is(w.in[2], 0) ? 1 : g.is(w.in[1], 0) ? 2 : 0;
}

} // namespace tapeless::detail
