// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which programs are rewritten for their rows (sparse_rows.hpp), and by which mask.
// A 0/1 mask of the run, as in mean(mask * loss), is the list of its rows that are not zero, known before the forward
// pass. The mask that saves most by flops is taken so, if any does. A mask of several axes, as of the pixels of
// images, has as many rows as elements.
#pragma once
#include "merged_axes.hpp"
#include "row_cost.hpp"

namespace tapeless::detail {

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
  // a row that is left out would be another number than 0
  if (user.o == op::where && nodes[user.in[2]].o == op::konst && nodes[user.in[2]].attr != 0) return false;
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

// Is it for the cost model to say whether rows are computed again?
constexpr bool leaves_residuals_open(const raw_program& p) {
  for (const node& v : p.nodes)
    if (v.o == op::select && attributes_of_select(v).is_open()) return true;
  return false;
}

template <class Backend, int N, int O> constexpr raw_program with_sparse_rows(const program<N, O>& p) {
  raw_program written;
  bool some = false;
  for (int i = 0; i < N; ++i) {
    written.nodes.push_back(p.nodes[i]);
    some = some || selects(p.nodes, p.nodes[i]);
  }
  for (int k = 0; k < O; ++k) written.outputs.push_back(p.outputs[k]);
  raw_program best = written;
  double cost = 0;
  const auto take = [&](const raw_program& r, double c) {
    cost = c;
    best = r;
  };
  const auto offer = [&](const raw_program& r) {
    if (r.broken.found) return;
    if (const double c = cost_of_rows<Backend>(r); c < cost) take(r, c);
  };
  // keeps what the forward stored, or computes it again
  const auto offer_pushed = [&](const raw_program& sunk, bool takes) {
    gather_pushing pushing(sunk);
    const bool nested = pushing.has_rows_of_rows();
    const raw_program kept = pushing.run();
    if (kept.broken.found) return;
    if (takes) take(kept, cost_of_rows<Backend>(kept));
    else offer(kept);
    if (leaves_residuals_open(sunk) && !fits_into_cache<Backend>(kept))
      offer(gather_pushing(sunk, true).run());
    if (nested) {
      const raw_program in_turn = gather_pushing(sunk, false, true).run();
      if (!in_turn.broken.found) offer(gather_pushing(in_turn).run());
    }
  };
  cost = cost_of_rows<Backend>(best);
  if (some) {
    scatter_sinking one(written);
    const raw_program sunk = one.run(no_node);
    offer_pushed(sunk, true); // also where it costs more: what is left out counts as exactly zero
    if (one.lists_meet())
      offer_pushed(scatter_sinking(written, true).run(no_node), false); // each goes on by itself
  }
  for (const int m : masks_of(p.nodes, N)) offer(with_rows_of_mask(written, m));
  return best;
}

} // namespace tapeless::detail
