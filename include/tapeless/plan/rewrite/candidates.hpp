// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Candidates for the choice of rows (plan/rewrite/choose_rows.hpp): rewritten programs and their costs.
#pragma once
#include "../../expr/program.hpp"
#include "../analysis/row_cost.hpp"

namespace tapeless::detail {

// raw_program::unfinished of the first pass over rows: the work that it leaves to a second pass.
//   no_second_pass         nothing
//   second_pass_of_axes    masks of several axes
//   second_pass_of_zeros   all, from the program in which masked losses are zero
//   n > 1                  a mask for each of n losses
inline constexpr int no_second_pass = 0, second_pass_of_axes = 1, second_pass_of_zeros = -1;

template <int N, int O> constexpr raw_program written_as(const program<N, O>& p) {
  raw_program r;
  for (const node& v : p.nodes) r.nodes.push_back(v);
  for (int k = 0; k < O; ++k) r.outputs.push_back(p.outputs[k]);
  return r;
}
constexpr vec<node> nodes_of(const raw_program& p) {
  vec<node> r;
  for (const node& v : p.nodes) r.push_back(v);
  return r;
}
// The number of cotangents of few rows that are stored with all of them.
constexpr int densified(const raw_program& p) {
  const vec<node> nodes = nodes_of(p);
  int n = 0;
  for (int i = 0; i < nodes.size(); ++i) n += densifies(&nodes[0], nodes.size(), i) ? 1 : 0;
  return n;
}

// Groups of axes that a program has in place of rows. Each is there once.
inline constexpr int max_groups = 4; // so many are tried
constexpr void add_group(vec<shape>& groups, const shape& group) {
  if (groups.size() < max_groups && !groups.contains(group)) groups.push_back(group);
}
// Adds the groups in place of n rows: (b, t) if a reshape makes n rows of them, b * t = n.
constexpr void add_groups_of(vec<shape>& groups, const raw_program& p, extent_t n) {
  for (const node& v : p.nodes) {
    const shape to = squeezed(v.s);
    if (v.o != op::reshape || to.rank == 0 || !(to.d[0] == n)) continue;
    const shape from = squeezed(p.nodes[v.in[0]].s);
    shape group;
    while (group.rank < from.rank && !(numel(group) == n) && multipliable(numel(group), from.d[group.rank])) {
      group.d[group.rank] = from.d[group.rank];
      ++group.rank;
    }
    if (group.rank > 1 && numel(group) == n) add_group(groups, group);
  }
}

struct costed_program {
  raw_program program;
  double cost = -1; // no program yet
  constexpr bool found() const { return cost >= 0; }
  constexpr void take(const raw_program& r, double c) {
    program = r;
    cost = c;
  }
  constexpr void offer(const raw_program& r, double c) {
    if (!found() || c < cost) take(r, c);
  }
};

} // namespace tapeless::detail
