// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which programs are rewritten for their rows (sparse_rows.hpp), and by which mask.
// A 0/1 mask of the run, as in mean(mask * loss), is the list of its rows that are not zero, known before the forward
// pass. The mask that saves most by flops is taken so, if any does.
#pragma once
#include "sparse_rows.hpp"

namespace tapeless::detail {

constexpr bool is_heavy(op o) { return o == op::matmul || is_conv(o); }
// Flops of products and convolutions, and what moving rows costs, where every named extent of the arguments is 1024 and
// three rows in four are kept.
constexpr double cost_of_rows(const raw_program& p) {
  constexpr double per_moved_element = 16;
  name_values names;
  for (const node& v : p.nodes)
    if (is_counted(v)) {
      const extent_t n = numel(p.nodes[v.in[0]].s);
      names.value[static_cast<std::size_t>(names.add(name_of(detail::names(v.s.d[0]))))] =
          (is_static(n) ? n : coefficient(n) * 1024) * 3 / 4;
    }
  const auto number = [&](const count& c) {
    double x = c.c;
    for (extent_t packed = c.names; packed != 0; packed >>= name_bits) {
      const char n = name_of(packed & 63);
      x *= names.find(n) >= 0 ? static_cast<double>(names.of(n)) : 1024;
    }
    return x;
  };
  double sum = 0;
  for (const node& v : p.nodes) {
    shape s[3]{};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) s[k] = p.nodes[v.in[k]].s;
    if (is_heavy(v.o)) sum += number(rule(v.o).flops(v, s));
    if (v.o == op::gather) sum += per_moved_element * number(count(1, v.s));
    if (v.o == op::scatter_add) sum += per_moved_element * number(count(1, s[0]));
  }
  return sum;
}

// What operand x is a view or a cast of.
template <class Nodes> constexpr int mask_below(const Nodes& nodes, int x) {
  while (rule(nodes[x].o).k == kind::view || nodes[x].o == op::cast || nodes[x].o == op::copy)
    x = nodes[x].in[0];
  return x;
}
// A factor or a condition of a loss of each row, which may be a mask: a condition of the program, or an argument that
// no transform differentiates by.
template <class Nodes> constexpr bool may_be_mask(const Nodes& nodes, const node& user, int k) {
  if (user.in[k] < 0 || (user.o != op::mul && !(user.o == op::where && k == 0))) return false;
  const node& m = nodes[mask_below(nodes, user.in[k])];
  const shape rows = squeezed(m.s);
  if (rows.rank != 1 || !(rows == squeezed(user.s)) || m.active) return false;
  return m.o == op::input || (m.t == dtype::boolean && !m.adjoint);
}

inline constexpr int max_masks = 4; // are tried

// Is there anything for with_sparse_rows to do? Other programs stay as they are.
template <int N, int O> constexpr bool selects_rows(const program<N, O>& p) {
  bool heavy = false, masks = false;
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    if (v.o == op::select) return true;
    if (v.o == op::gather && lists_rows(p.nodes, v.in[1], p.nodes[v.in[0]].s.d[static_cast<int>(v.attr)]))
      return true;
    heavy = heavy || is_heavy(v.o);
    for (int k = 0; k < 2 && !masks; ++k) masks = may_be_mask(p.nodes, v, k);
  }
  return heavy && masks;
}

template <int N, int O> constexpr raw_program with_sparse_rows(const program<N, O>& p) {
  raw_program written;
  bool selects = false;
  vec<int> masks;
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    written.nodes.push_back(v);
    selects =
        selects || v.o == op::select ||
        (v.o == op::gather && lists_rows(p.nodes, v.in[1], p.nodes[v.in[0]].s.d[static_cast<int>(v.attr)]));
    for (int k = 0; k < 2; ++k) {
      if (!may_be_mask(p.nodes, v, k)) continue;
      const int m = mask_below(p.nodes, v.in[k]);
      bool known = masks.size() == max_masks;
      for (const int j : masks) known = known || j == m;
      if (!known) masks.push_back(m);
    }
  }
  for (int k = 0; k < O; ++k) written.outputs.push_back(p.outputs[k]);
  raw_program best = written;
  if (selects) {
    best = scatter_sinking(written).run(no_node);
    best = gather_pushing(best).run();
    if (best.broken.found) best = written;
  }
  double cost = cost_of_rows(best);
  for (const int m : masks) {
    raw_program r = scatter_sinking(written).run(m);
    r = gather_pushing(r).run();
    const double c = cost_of_rows(r);
    if (r.broken.found || c >= cost) continue;
    cost = c;
    best = r;
  }
  return best;
}

} // namespace tapeless::detail
