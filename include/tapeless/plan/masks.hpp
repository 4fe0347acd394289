// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which programs are rewritten for their rows (sparse_rows.hpp), and by which mask.
// A 0/1 mask of the run, as in mean(mask * loss), is the list of its rows that are not zero, known before the forward
// pass. The mask that saves most by flops is taken so, if any does. A mask of several axes, as of the pixels of
// images, has as many rows as elements.
#pragma once
#include "merged_axes.hpp"

namespace tapeless::detail {

constexpr bool is_heavy(op o) { return o == op::matmul || is_conv(o); }
// Flops of products and convolutions, and what moving rows costs, where every named extent of the arguments is 1024 and
// three rows in four are kept.
constexpr double cost_of_rows(const raw_program& p) {
  constexpr double per_moved_element = 16;
  name_values names;
  const auto number = [&](const count& c) {
    double x = c.c;
    for (extent_t packed = c.names; packed != 0; packed >>= name_bits) {
      const char n = name_of(packed & 63);
      x *= names.find(n) >= 0 ? static_cast<double>(names.of(n)) : 1024;
    }
    return x;
  };
  for (const node& v : p.nodes)
    if (is_counted(v)) {
      const double n = number(count(1, p.nodes[v.in[0]].s));
      names.value[static_cast<std::size_t>(names.add(name_of(detail::names(v.s.d[0]))))] =
          static_cast<extent_t>(n < 1e15 ? n * 3 / 4 : 1e15);
    }
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
// A factor or a condition of the losses of rows, which may be a mask: a condition of the program, or an argument that
// no transform differentiates by. It has the first axes of what it is a factor of.
template <class Nodes> constexpr bool may_be_mask(const Nodes& nodes, const node& user, int k) {
  const bool is_factor = user.o == op::mul || ((user.o == op::where || user.o == op::div) && k == 0);
  if (user.in[k] < 0 || !is_factor) return false;
  const node& m = nodes[mask_below(nodes, user.in[k])];
  const shape rows = squeezed(m.s);
  if (rows.rank == 0 || end_of_group(user.s, rows) < 0 || m.active) return false;
  return m.o == op::input || (m.t == dtype::boolean && !m.adjoint);
}
// Of how many rows the products and convolutions are.
template <class Nodes> constexpr vec<extent_t> rows_of_products(const Nodes& nodes, int size) {
  vec<extent_t> r;
  for (int i = 0; i < size; ++i) {
    if (!is_heavy(nodes[i].o)) continue;
    const shape& s = nodes[i].s;
    extent_t rows = s.d[0];
    for (int a = 1; !is_conv(nodes[i].o) && a + 1 < s.rank; ++a) rows = times(rows, s.d[a]);
    bool known = false;
    for (const extent_t e : r) known = known || e == rows;
    if (!known) r.push_back(rows);
  }
  return r;
}
// Positions are int32, and rows of several axes are those of some product: other values of that shape are no masks.
constexpr bool may_have_rows(const shape& mask, const vec<extent_t>& of_products) {
  const shape rows = squeezed(mask);
  const extent_t n = numel(rows);
  if (n == 0 || coefficient(n) > most_selected) return false;
  bool found = rows.rank == 1;
  for (const extent_t e : of_products) found = found || quotient(e, n) > 0;
  return found;
}

// The program without the rows where the mask is zero.
constexpr raw_program with_rows_of_mask(const raw_program& p, int mask) {
  const shape rows = squeezed(p.nodes[mask].s);
  if (rows.rank == 1) return gather_pushing(scatter_sinking(p).run(mask)).run();
  const axis_merging::result q = axis_merging(p, rows).run(mask);
  return gather_pushing(scatter_sinking(q.program).run(q.mask)).run();
}

inline constexpr int max_masks = 4; // are tried

// Is there anything for with_sparse_rows to do? Other programs stay as they are.
template <int N, int O> constexpr bool selects_rows(const program<N, O>& p) {
  const vec<extent_t> of_products = rows_of_products(p.nodes, N);
  bool masks = false;
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    if (v.o == op::select) return true;
    if (v.o == op::gather && lists_rows(p.nodes, v.in[1], p.nodes[v.in[0]].s.d[static_cast<int>(v.attr)]))
      return true;
    for (int k = 0; k < 2 && !masks && !of_products.empty(); ++k)
      masks = may_be_mask(p.nodes, v, k) &&
              may_have_rows(p.nodes[mask_below(p.nodes, v.in[k])].s, of_products);
  }
  return masks;
}

template <int N, int O> constexpr raw_program with_sparse_rows(const program<N, O>& p) {
  const vec<extent_t> of_products = rows_of_products(p.nodes, N);
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
      if (!known && may_have_rows(p.nodes[m].s, of_products)) masks.push_back(m);
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
    raw_program r = with_rows_of_mask(written, m);
    const double c = cost_of_rows(r);
    if (r.broken.found || c >= cost) continue;
    cost = c;
    best = r;
  }
  return best;
}

} // namespace tapeless::detail
