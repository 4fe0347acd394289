// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Derivatives, from graph to graph:
//   vjp(g, y, y_bar, wrt)      x_bar = J^T y_bar      reverse sweep over the rules of ops/
//   jvp(g, y, x, x_dot)        y_dot = J x_dot        forward sweep; a node's rule is its vjp rule, transposed
//   substitute(g, from, to)    fresh arguments replaced by the actual ones
// Tangents and cotangents of bf16 nodes are float. Seeds and results have the type of the value that they belong to.
// The results are further nodes of the same graph: they can be differentiated again, and a node that nothing reads is
// never planned.
#pragma once
#include "../ops/all.hpp"

namespace tapeless::detail {

// During its lifetime new nodes are marked as the adjoint's.
struct adjoint_scope {
  graph& g;
  bool outer;
  constexpr explicit adjoint_scope(graph& graph) : g(graph), outer(graph.in_adjoint) { g.in_adjoint = true; }
  constexpr ~adjoint_scope() { g.in_adjoint = outer; }
  adjoint_scope(const adjoint_scope&) = delete;
  adjoint_scope& operator=(const adjoint_scope&) = delete;
};

constexpr int accumulate(graph& g, int sum, int term) {
  return sum < 0 ? term : binary(g, op::add, sum, term);
}

// @pre g[y[i]].s == g[y_bar[i]].s
// @return x_bar for every node of wrt; no_node where y does not depend on it
constexpr vec<int> vjp(graph& g, const vec<int>& y, const vec<int>& y_bar, const vec<int>& wrt) {
  const adjoint_scope scope(g);
  vec<int> result(wrt.size(), no_node);
  if (wrt.empty() || y.empty() || !g.sound()) return result;
  int last = 0, first = wrt[0];
  for (const int i : y) last = i > last ? i : last;
  for (const int i : wrt) first = i < first ? i : first;
  if (first > last) return result;
  // active: depends on wrt. Positions are relative to `first`: no node before it can be active.
  vec<char> marks(last - first + 1, 0);
  char* const active = marks.begin(); // no call for each access: see block_list.hpp
  for (const int i : wrt)
    if (i <= last) active[i - first] = 1;
  for (int i = first; i <= last; ++i) {
    const node& v = g[i];
    if (!rule(v.o).differentiable) continue;
    for (const int k : v.in)
      if (k >= first && active[k - first]) active[i - first] = 1;
  }
  vec<int> cotangents(last - first + 1, no_node);
  int* const bar = cotangents.begin();
  for (int i = 0; i < y.size(); ++i)
    if (y[i] >= first && active[y[i] - first])
      bar[y[i] - first] = accumulate(g, bar[y[i] - first], widen(g, y_bar[i]));
  for (int i = last; i >= first; --i) {
    if (bar[i - first] < 0 || !active[i - first] || !rule(g[i].o).differentiable) continue;
    if (is_zero(g, bar[i - first])) continue; // J^T 0 is 0, even if J is not finite
    vjp_context c{g, g[i], {&g, i}, {&g, bar[i - first]}};
    for (int k = 0; k < 3; ++k) c.wanted[k] = c.v.in[k] >= first && active[c.v.in[k] - first];
    rule(c.v.o).vjp(c);
    for (int k = 0; k < 3; ++k) {
      if (c.given[k] < 0) continue;
      const int x = c.v.in[k];
      bar[x - first] = accumulate(g, bar[x - first], sum_to(g, c.given[k], g[x].s));
    }
  }
  for (int i = 0; i < wrt.size(); ++i)
    if (wrt[i] <= last) result[i] = bar[wrt[i] - first];
  return result;
}

// y_dot of one node from the tangents of its operands, by transposing its vjp:
// y_bar -> (x_bar_k) is linear, and its transpose maps (x_dot_k) to y_dot.
constexpr int jvp_of_node(graph& g, int i, const int (&x_dot)[3]) {
  const node v = g[i];
  if (is_custom(v.o) && v.custom->has_jvp) {
    int dots[3] = {x_dot[0], x_dot[1], x_dot[2]};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0 && dots[k] < 0) dots[k] = zeros(g, g[v.in[k]].t, g[v.in[k]].s);
    return v.custom->jvp(g, v.in, i, dots);
  }
  const int y_bar = g.fresh(tangent_type(v.t), v.s);
  vjp_context c{g, v, {&g, i}, {&g, y_bar}};
  for (int k = 0; k < 3; ++k) c.wanted[k] = x_dot[k] >= 0;
  rule(v.o).vjp(c);
  vec<int> x_bar, seed;
  for (int k = 0; k < 3; ++k) {
    if (c.given[k] < 0) continue;
    x_bar.push_back(sum_to(g, c.given[k], g[v.in[k]].s));
    seed.push_back(x_dot[k]);
  }
  return vjp(g, x_bar, seed, vec<int>(1, y_bar))[0];
}

// @pre g[x[i]].s == g[x_dot[i]].s      @return y_dot for every y; no_node where it does not depend on x
constexpr vec<int> jvp(graph& g, const vec<int>& y, const vec<int>& x, const vec<int>& x_dot) {
  const adjoint_scope scope(g);
  vec<int> result(y.size(), no_node);
  int last = -1, first = x.empty() ? 0 : x[0];
  for (const int i : y) last = i > last ? i : last;
  for (const int i : x) first = i < first ? i : first;
  if (first > last || !g.sound()) return result;
  vec<int> dot(last - first + 1, no_node);
  for (int i = 0; i < x.size(); ++i)
    if (x[i] <= last) dot[x[i] - first] = x_dot[i];
  for (int i = first; i <= last; ++i) {
    if (dot[i - first] >= 0 || !rule(g[i].o).differentiable) continue;
    int x_of[3] = {no_node, no_node, no_node};
    bool any = false;
    for (int k = 0; k < 3; ++k)
      if (const int j = g[i].in[k]; j >= first && dot[j - first] >= 0 && is_float(tangent_type(g[j].t))) {
        x_of[k] = dot[j - first];
        any = true;
      }
    if (any) dot[i - first] = jvp_of_node(g, i, x_of);
  }
  for (int i = 0; i < y.size(); ++i)
    if (y[i] >= first) {
      const int d = dot[y[i] - first];
      result[i] = d >= 0 && g[y[i]].t == dtype::bf16 ? narrow(g, d) : d;
    }
  return result;
}

// The nodes of `ids` with every leaf from[i] replaced by to[i].
constexpr void substitute(graph& g, const vec<int>& from, const vec<int>& to, vec<int>& ids) {
  int last = -1, first = from.empty() ? 0 : from[0];
  for (const int i : ids) last = i > last ? i : last;
  for (const int i : from) first = i < first ? i : first;
  vec<int> counts; // selections: ids may depend on them only by the names of extents
  for (int i = first; g.has_counts() && i < g.size(); ++i)
    if (has_data_dependent_rows(g[i])) counts.push_back(i);
  for (const int i : counts) last = i > last ? i : last;
  if (from.empty() || first > last) return;
  vec<char> needed(last - first + 1, 0);
  for (const int i : counts) needed[i - first] = 1;
  for (const int i : ids)
    if (i >= first) needed[i - first] = 1;
  for (int i = last; i >= first; --i)
    if (needed[i - first])
      for (const int k : g[i].in)
        if (k >= first) needed[k - first] = 1;
  vec<int> now(last - first + 1, no_node); // no_node: unchanged
  for (int i = 0; i < from.size(); ++i)
    if (from[i] <= last) now[from[i] - first] = to[i];
  for (int i = first; i <= last; ++i) {
    if (!needed[i - first] || now[i - first] >= 0) continue;
    node v = g[i];
    bool changed = false;
    for (int& k : v.in)
      if (k >= first && now[k - first] >= 0) {
        k = now[k - first];
        changed = true;
      }
    if (!changed) continue;
    const bool outer = g.in_adjoint;
    g.in_adjoint = v.adjoint;
    if (rule(v.o).k == kind::kernel || v.o == op::reshape)
      for (int& k : v.in)
        if (k >= 0) k = dense(g, k);
    now[i - first] = g.intern(v);
    g.in_adjoint = outer;
  }
  for (int& i : ids)
    if (i >= first && now[i - first] >= 0) i = now[i - first];
}

} // namespace tapeless::detail
