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
constexpr int mask_below(const node* nodes, int x) {
  while (rule(nodes[x].o).k == kind::view || nodes[x].o == op::cast || nodes[x].o == op::copy)
    x = nodes[x].in[0];
  return x;
}
// x - x == 0: is x finite? softmax and logsumexp ask that of each row's maximum.
constexpr bool asks_if_finite(const node* nodes, const node& v) {
  if (v.o != op::eq) return false;
  for (int k = 0; k < 2; ++k)
    if (const node& d = nodes[v.in[k]]; d.o == op::sub && d.in[0] == d.in[1]) return true;
  return false;
}
// A factor or a condition of the losses of rows, which may be a mask: a condition of the program, or an argument that
// no transform differentiates by. It has the first axes of what it is a factor of.
constexpr bool may_be_mask(const node* nodes, const node& user, int k) {
  const bool is_factor = user.o == op::mul || ((user.o == op::where || user.o == op::div) && k == 0);
  if (user.in[k] < 0 || !is_factor) return false;
  const node& m = nodes[mask_below(nodes, user.in[k])];
  const shape rows = squeezed(m.s);
  if (rows.rank == 0 || end_of_group(user.s, rows) < 0 || m.active || asks_if_finite(nodes, m)) return false;
  return m.o == op::input || (m.t == dtype::boolean && !m.adjoint);
}
constexpr extent_t rows_of_product(const node& v) {
  extent_t rows = v.s.d[0];
  for (int a = 1; v.o == op::matmul && a + 1 < v.s.rank; ++a) rows = times(rows, v.s.d[a]);
  return rows;
}
// Products and convolutions, one of each number of rows.
constexpr vec<int> products(const node* nodes, int size) {
  vec<int> r;
  for (int i = 0; i < size; ++i) {
    if (!is_heavy(nodes[i].o)) continue;
    bool known = false;
    for (const int j : r) known = known || rows_of_product(nodes[i]) == rows_of_product(nodes[j]);
    if (!known) r.push_back(i);
  }
  return r;
}
// Positions are int32, and rows of several axes are those of some product: other values of that shape are no masks.
constexpr bool may_have_rows(const node* nodes, const node& mask, const vec<int>& of_products) {
  const shape rows = squeezed(mask.s);
  const extent_t n = numel(rows);
  if (n == 0 || coefficient(n) > most_selected) return false;
  bool found = rows.rank == 1 && !of_products.empty();
  for (const int i : of_products) found = found || quotient(rows_of_product(nodes[i]), n) > 0;
  return found;
}
constexpr bool selects(const node* nodes, const node& v) {
  if (v.o == op::gather) return lists_rows(nodes[v.in[1]], nodes[v.in[0]].s.d[static_cast<int>(v.attr)]);
  return v.o == op::select;
}

inline constexpr int max_masks = 4; // are tried

// Of these nodes, the first ones that may be masks.
constexpr vec<int> masks_of(const node* nodes, int size, int most = max_masks) {
  const vec<int> of_products = products(nodes, size);
  vec<int> r;
  for (int i = 0; i < size; ++i)
    for (int k = 0; k < 2 && r.size() < most; ++k) {
      if (!may_be_mask(nodes, nodes[i], k)) continue;
      const int m = mask_below(nodes, nodes[i].in[k]);
      bool known = false;
      for (const int j : r) known = known || j == m;
      if (!known && may_have_rows(nodes, nodes[m], of_products)) r.push_back(m);
    }
  return r;
}
// Is there anything for with_sparse_rows to do? Other programs stay as they are.
constexpr bool selects_rows(const node* nodes, int size) {
  for (int i = 0; i < size; ++i)
    if (selects(nodes, nodes[i])) return true;
  return !masks_of(nodes, size, 1).empty();
}

// The program without the rows where the mask is zero.
constexpr raw_program with_rows_of_mask(const raw_program& p, int mask) {
  const shape rows = squeezed(p.nodes[mask].s);
  if (rows.rank == 1) return gather_pushing(scatter_sinking(p).run(mask)).run();
  const axis_merging::result q = axis_merging(p, rows).run(mask);
  return gather_pushing(scatter_sinking(q.program).run(q.mask)).run();
}

template <int N, int O> constexpr raw_program with_sparse_rows(const program<N, O>& p) {
  raw_program written;
  bool some = false;
  for (int i = 0; i < N; ++i) {
    written.nodes.push_back(p.nodes[i]);
    some = some || selects(p.nodes, p.nodes[i]);
  }
  for (int k = 0; k < O; ++k) written.outputs.push_back(p.outputs[k]);
  raw_program best = written, apart; // apart: two lists of one sum go on each by itself
  if (some) {
    scatter_sinking one(written);
    best = one.run(no_node);
    best = gather_pushing(best).run();
    if (best.broken.found) best = written;
    if (one.lists_meet()) apart = gather_pushing(scatter_sinking(written, true).run(no_node)).run();
  }
  double cost = cost_of_rows(best);
  const auto offer = [&](const raw_program& r) {
    if (r.broken.found) return;
    const double c = cost_of_rows(r);
    if (c >= cost) return;
    cost = c;
    best = r;
  };
  if (!apart.nodes.empty()) offer(apart);
  for (const int m : masks_of(p.nodes, N)) offer(with_rows_of_mask(written, m));
  return best;
}

} // namespace tapeless::detail
