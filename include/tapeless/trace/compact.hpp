// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// compact: the nodes of a graph that its outputs need, renumbered, as a program
#pragma once
#include "../expr/program.hpp"
#include "../ops/all.hpp"

namespace tapeless::detail {

// Does v have or read the extent that the selection counts?
constexpr bool reads_count(const node& v, const node& selection) {
  return (names_read(v) & set_of_names(selection.s.d[0])) != 0;
}
// An extent that two selections count; 0 if each counts its own.
constexpr extent_t counted_twice(const raw_program& r, const vec<int>& counted) {
  for (int i = 0; i < counted.size(); ++i)
    for (int j = 0; j < i; ++j)
      if (r.nodes[counted[i]].s.d[0] == r.nodes[counted[j]].s.d[0]) return r.nodes[counted[i]].s.d[0];
  return 0;
}
// Does a node read an extent before the selection that counts it?
constexpr bool reads_before(const raw_program& p, const vec<int>& counted) {
  std::uint64_t later = 0;
  for (const int k : counted) later |= set_of_names(p.nodes[k].s.d[0]);
  for (int i = 0, k = 0; i < p.nodes.size() && later != 0; ++i) {
    const node& v = p.nodes[i];
    if (k < counted.size() && i == counted[k]) later &= ~set_of_names(p.nodes[counted[k++]].s.d[0]);
    if ((names_read(v) & later) != 0) return true;
  }
  return false;
}

// The program with its nodes reordered: a node that reads a count comes after the selection that counts it.
// counted: these selections
// @pre each selection counts an extent of its own, which no argument has; otherwise there is no such order
constexpr raw_program after_counts(const raw_program& p, const vec<int>& counted) {
  if (!reads_before(p, counted)) return p;
  raw_program r;
  vec<int> now(p.nodes.size(), no_node), stack;
  for (int i = 0; i < p.nodes.size(); ++i) {
    stack.push_back(i);
    while (!stack.empty()) {
      const int x = stack.back(), before = stack.size();
      const auto first = [&](int y) {
        if (y >= 0 && now[y] < 0) stack.push_back(y);
      };
      if (now[x] < 0) {
        for (const int k : p.nodes[x].in) first(k);
        for (const int k : counted)
          if (k != x && reads_count(p.nodes[x], p.nodes[k])) first(k);
      }
      if (stack.size() != before) continue;
      stack.pop_back();
      if (now[x] >= 0) continue;
      node v = p.nodes[x];
      for (int& k : v.in)
        if (k >= 0) k = now[k];
      now[x] = r.nodes.size();
      r.nodes.push_back(v);
    }
  }
  for (const int o : p.outputs) r.outputs.push_back(now[o]);
  return r;
}

// The selections with data-dependent rows, without those that depend on arguments that a transform has replaced.
constexpr vec<int> selections_that_count(const graph& g) {
  vec<int> r;
  if (!g.has_counts()) return r;
  vec<char> marks(g.size(), 0);
  char* const replaced = marks.begin();
  for (int i = 0, size = g.size(); i < size; ++i) {
    const node& v = g[i];
    bool old = v.o == op::argument;
    for (const int k : v.in) old = old || (k >= 0 && replaced[k] != 0);
    replaced[i] = old ? 1 : 0;
    if (v.o == op::select && !old && has_data_dependent_rows(v)) r.push_back(i);
  }
  return r;
}
// straight_through(a, b) is a: its second operand serves derivatives only, which are made by now.
constexpr int value_of(const graph& g, int a) {
  while (a >= 0 && g[a].o == op::straight_through) a = g[a].in[0];
  return a;
}
// What the outputs need: operands, and the selections that count an extent. A node may have an extent that none of its
// operands has, as a repeated number or the value of the extent: then no operand leads to the selection.
constexpr vec<char> needed_by(const graph& g, const vec<int>& outputs) {
  vec<char> needed(g.size(), 0);
  char* const r = needed.begin();
  for (const int o : outputs) r[o] = 1;
  const vec<int> counts = selections_that_count(g);
  const bool some_count = !counts.empty();
  for (bool more = true; more;) {
    more = false;
    std::uint64_t begun = 0;
    for (int i = g.size() - 1; i >= 0; --i) {
      if (r[i] == 0) continue;
      const node& v = g[i];
      std::uint64_t own = !some_count || has_data_dependent_rows(v) ? 0 : names_read(v);
      for (const int in : v.in) {
        if (in < 0) continue;
        const int k = value_of(g, in);
        r[k] = 1;
        if (own != 0) own &= ~names_read(g[k]);
      }
      begun |= own;
    }
    for (const int i : counts)
      if (r[i] == 0 && (names_read(g[i]) & begun) != 0) {
        r[i] = 1;
        more = true;
      }
  }
  return needed;
}

// Only what the outputs need, renumbered; every output is a dense node of its own.
constexpr raw_program compact(graph& g, vec<int> outputs) {
  for (int k = 0; k < outputs.size(); ++k) {
    outputs[k] = value_of(g, outputs[k]);
    if (is_pattern_leaf(g[outputs[k]])) continue; // it stays in the argument
    while (g[outputs[k]].o == op::reshape)
      outputs[k] = value_of(g, g[outputs[k]].in[0]); // the same elements in the same order
    bool own = rule(g[outputs[k]].o).k != kind::leaf && rule(g[outputs[k]].o).k != kind::view;
    for (int j = 0; j < k; ++j) own = own && outputs[j] != outputs[k];
    if (own) continue;
    node v;
    v.o = op::copy;
    v.t = g[outputs[k]].t;
    v.s = g[outputs[k]].s;
    v.in[0] = outputs[k];
    v.attr = static_cast<std::uint64_t>(k) + 1; // two outputs never share a buffer
    outputs[k] = g.intern(v);
  }
  // not const: begin() const would be one more instantiation in each program
  vec<char> needed = needed_by(g, outputs);
  vec<int> number(g.size(), no_node), counted;
  raw_program r;
  int* const now = number.begin(); // no call for each access: see block_list.hpp
  char* const kept = needed.begin();
  for (int i = 0, size = g.size(), count = 0; i < size; ++i) {
    if (kept[i] == 0) continue;
    node v = g[i];
    for (int& k : v.in)
      if (k >= 0) {
        if (now[k] < 0) k = value_of(g, k);
        k = now[k];
      }
    if (v.o == op::select && has_data_dependent_rows(v)) counted.push_back(count);
    now[i] = count++;
    r.nodes.push_back(v);
  }
  for (const int o : outputs) r.outputs.push_back(now[o]);
  const extent_t twice = counted_twice(r, counted);
  g.require(twice == 0, "tapeless: selection: its name is that of no other selection", shape{1, {twice}});
  if (counted.empty() || !g.sound()) return r;
  return after_counts(r, counted);
}

} // namespace tapeless::detail
