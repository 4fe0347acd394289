// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which programs are rewritten for their rows (sparse_rows.hpp), and by which mask.
// A 0/1 mask of the run, as in mean(mask * loss), is the list of its rows that are not zero, known before the forward
// pass. The mask that saves most by flops is taken so, if any does; one that is given also where it saves nothing, so
// that what a row that it leaves out counts for does not depend on the size of the network. A mask of several axes, as
// of the pixels of images, has as many rows as elements.
#pragma once
#include "merged_axes.hpp"
#include "row_cost.hpp"

namespace tapeless::detail {

// x - x == 0: is x finite? softmax and logsumexp ask that of each row's maximum.
constexpr bool asks_if_finite(const node* nodes, const node& v) {
  if (v.o != op::eq) return false;
  for (int k = 0; k < 2; ++k)
    if (const node& d = nodes[v.in[k]]; d.o == op::sub && d.in[0] == d.in[1]) return true;
  return false;
}
// Of every node: is it a weight that may be exactly 0, by ops that keep a zero or may make one, and through which no
// derivative flows? exp(x) and 1 / x are none.
constexpr vec<char> weights_among(const node* nodes, int size) {
  vec<char> varies(size, 0), zero(size, 0);
  for (int i = 0; i < size; ++i) {
    const node& v = nodes[i];
    bool z[3] = {false, false, false};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) {
        z[k] = zero[v.in[k]] != 0;
        if (varies[v.in[k]] != 0) varies[i] = 1;
      }
    if (v.active) varies[i] = 1;
    if (v.o == op::stop_gradient || v.t == dtype::boolean || v.t == dtype::i32) varies[i] = 0;
    bool may = v.t == dtype::boolean || (rule(v.o).k == kind::view && z[0]);
    switch (v.o) {
      case op::input:
      case op::sub: may = true; break;
      case op::konst: may = v.attr == 0; break;
      case op::neg:
      case op::square:
      case op::sqrt:
      case op::tanh:
      case op::relu:
      case op::copy:
      case op::cast:
      case op::stop_gradient:
      case op::div:
      case op::pow:
      case op::gather: may = may || z[0]; break;
      case op::mul:
      case op::max:
      case op::min: may = z[0] || z[1]; break;
      case op::add: may = z[0] && z[1]; break;
      case op::where: may = may || z[1] || z[2]; break;
      default: break;
    }
    zero[i] = may;
  }
  for (int i = 0; i < size; ++i)
    zero[i] = zero[i] != 0 && varies[i] == 0 && (!nodes[i].adjoint || nodes[i].o == op::input);
  return zero;
}
// A factor or a condition of the losses of rows, which may be a mask: an argument, a weight that the program computes, or
// a condition; no transform differentiates by it. It has the first axes of what it is a factor of. Of it and what it is a
// view, a cast or a stop_gradient of, the last that has them; no_node where none has.
constexpr int mask_of(const node* nodes, const vec<char>& weights, const node& user, int k) {
  const bool is_factor = user.o == op::mul || ((user.o == op::where || user.o == op::div) && k == 0);
  if (user.in[k] < 0 || !is_factor) return no_node;
  // a row that is left out would be another number than 0
  if (user.o == op::where && nodes[user.in[2]].o == op::konst && nodes[user.in[2]].attr != 0) return no_node;
  int found = no_node;
  for (int x = user.in[k];;) {
    const node& m = nodes[x];
    const shape rows = squeezed(m.s);
    if (rows.rank > 0 && end_of_group(user.s, rows) >= 0) found = x;
    if (rule(m.o).k != kind::view && m.o != op::cast && m.o != op::copy && m.o != op::stop_gradient) break;
    x = m.in[0];
  }
  return found >= 0 && weights[found] != 0 && !asks_if_finite(nodes, nodes[found]) ? found : no_node;
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
  bool found = rows.rank == 1;
  for (const int i : of_products) found = found || quotient(rows_of_product(nodes[i]), n) > 0;
  return found;
}
constexpr bool selects(const node* nodes, const node& v) {
  if (v.o != op::gather && (v.o != op::scatter_add || !v.adjoint)) return v.o == op::select;
  const node& all = v.o == op::gather ? nodes[v.in[0]] : v; // a gradient alone has no gather
  return lists_rows(nodes[v.in[1]], all.s.d[static_cast<int>(v.attr)]);
}

inline constexpr int max_masks = 4; // are tried

// A weight that is no argument and no condition.
constexpr bool is_weight_of_program(const node* nodes, int m) {
  while (rule(nodes[m].o).k == kind::view) m = nodes[m].in[0];
  return nodes[m].o != op::input && nodes[m].t != dtype::boolean;
}
// Is it a condition that is known before the first product?
constexpr bool is_given_condition(const node* nodes, int m) {
  if (nodes[m].t != dtype::boolean) return false;
  vec<char> read(m + 1, 0);
  read[m] = 1;
  for (int i = m; i >= 0; --i) {
    if (read[i] == 0) continue;
    if (is_heavy(nodes[i].o)) return false;
    for (const int x : nodes[i].in)
      if (x >= 0) read[x] = 1;
  }
  return true;
}
// Is it an argument whose product with what varies is added up over its rows, by ops that are linear in it, as in
// mean(m * l)? Labels of 1 and -1, whose products with the model's output are read by a loss, are not.
constexpr bool weighs_losses(const node* nodes, int size, int m) {
  if (nodes[m].t == dtype::boolean || is_weight_of_program(nodes, m)) return false;
  const shape rows = squeezed(nodes[m].s);
  constexpr char other = 0, weight = 1, weighed = 2;
  vec<char> is(size, other);
  is[m] = weight;
  for (int i = m + 1; i < size; ++i) {
    const node& v = nodes[i];
    const auto of = [&](int k) { return v.in[k] >= 0 ? is[v.in[k]] : other; };
    const bool first_only = v.o == op::neg || v.o == op::div || v.o == op::cast || v.o == op::copy ||
                            v.o == op::stop_gradient || v.o == op::sum || rule(v.o).k == kind::view;
    if (first_only) is[i] = of(0);
    else if (v.o == op::mul && of(0) != of(1)) is[i] = weighed;
    else if ((v.o == op::add || v.o == op::sub) && (of(0) == weighed || of(1) == weighed)) is[i] = weighed;
    else if (v.o == op::where && (of(1) == weighed || of(2) == weighed)) is[i] = weighed;
    if (v.o == op::sum && is[i] == weighed && end_of_group(v.s, rows) < 0) return true;
  }
  return false;
}
// Is some product of the rows of a mask alone?
constexpr bool has_rows_of_mask(const raw_program& p) {
  const extent_t count = unwritten_extent(0);
  for (const node& v : p.nodes) {
    if (!is_heavy(v.o)) continue;
    for (const int x : v.in)
      if (x >= 0 && has_name_of(numel(p.nodes[x].s), count)) return true;
  }
  return false;
}
// Of these nodes, the first ones that may be masks: conditions that are given, of the rows of a product; arguments and
// other conditions; weights that the program computes.
constexpr vec<int> masks_of(const node* nodes, int size, int most = max_masks) {
  const vec<int> of_products = products(nodes, size);
  vec<int> r;
  if (of_products.empty()) return r;
  const vec<char> weights = weights_among(nodes, size);
  const auto order = [&](int m) {
    if (is_weight_of_program(nodes, m)) return 2;
    bool rows = false;
    for (const int i : of_products) rows = rows || quotient(rows_of_product(nodes[i]), numel(nodes[m].s)) > 0;
    return rows && is_given_condition(nodes, m) ? 0 : 1;
  };
  vec<int> all;
  for (int i = 0; i < size; ++i)
    for (int k = 0; k < 2; ++k) {
      const int m = mask_of(nodes, weights, nodes[i], k);
      bool known = m < 0;
      for (const int j : all) known = known || j == m;
      if (!known && may_have_rows(nodes, nodes[m], of_products)) all.push_back(m);
    }
  for (int turn = 0; turn < 3; ++turn)
    for (const int m : all)
      if (r.size() < most && order(m) == turn) r.push_back(m);
  return r;
}
// Is there anything for with_sparse_rows to do? Other programs stay as they are.
constexpr bool selects_rows(const node* nodes, int size) {
  for (int i = 0; i < size; ++i)
    if (selects(nodes, nodes[i])) return true;
  return !masks_of(nodes, size, 1).empty();
}

// Axes that a program has in place of rows, each once.
inline constexpr int max_groups = 4; // are tried
constexpr void add_group(vec<shape>& groups, const shape& group) {
  bool known = groups.size() == max_groups;
  for (const shape& g : groups) known = known || g == group;
  if (!known) groups.push_back(group);
}
// In place of n rows: (b, t) where a reshape makes b * t = n.
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
// In place of all rows that are selected from.
constexpr vec<shape> groups_of_selected(const raw_program& p) {
  vec<shape> r;
  for (const node& v : p.nodes) {
    if (v.o != op::gather) continue;
    const extent_t n = p.nodes[v.in[0]].s.d[static_cast<int>(v.attr)];
    if (lists_rows(p.nodes[v.in[1]], n)) add_groups_of(r, p, n);
  }
  return r;
}
// How many cotangents of few rows get all of them.
constexpr int densified(const raw_program& p) {
  vec<node> nodes;
  for (const node& v : p.nodes) nodes.push_back(v);
  int n = 0;
  for (int i = 0; i < nodes.size(); ++i) n += densifies(&nodes[0], nodes.size(), i) ? 1 : 0;
  return n;
}
// offer(r): the programs without the rows where the mask is zero
template <class F> constexpr void with_rows_of_mask(const raw_program& p, int mask, F&& offer) {
  const auto pushed = [](const raw_program& q, int m) {
    return gather_pushing(scatter_sinking(q).run(m)).run();
  };
  const auto merged = [&](const shape& group) {
    const axis_merging::result q = axis_merging(p, group).run(mask);
    if (!q.program.broken.found) offer(pushed(q.program, q.mask));
  };
  const shape rows = squeezed(p.nodes[mask].s);
  if (rows.rank > 1) return merged(rows);
  const raw_program flat = pushed(p, mask);
  offer(flat);
  if (has_rows_of_mask(flat) && densified(flat) == 0) return;
  vec<shape> groups;
  add_groups_of(groups, p, rows.d[0]);
  for (const shape& group : groups) merged(group);
}

// A weight that the program computes is often zero nowhere, as a focal one may be. Where no row was left out, the step
// was within 3 % of the dense one if this much is saved, in ns.
constexpr double most_with_weights(double dense) { return 0.14 * dense > 20e3 ? 0.86 * dense : dense - 20e3; }

// Is it for the cost model to say whether rows are computed again?
constexpr bool leaves_residuals_open(const raw_program& p) {
  for (const node& v : p.nodes)
    if (v.o == op::select && attributes_of_select(v).is_open()) return true;
  return false;
}

template <class Backend, int N, int O> constexpr raw_program with_sparse_rows(const program<N, O>& p) {
  raw_program written;
  bool some = false, chosen = false; // lists of rows; of those some that the program chooses
  for (int i = 0; i < N; ++i) {
    written.nodes.push_back(p.nodes[i]);
    some = some || selects(p.nodes, p.nodes[i]);
    chosen = chosen || p.nodes[i].o == op::select;
  }
  for (int k = 0; k < O; ++k) written.outputs.push_back(p.outputs[k]);
  const double of_written = cost_of_rows<Backend>(written);
  raw_program best = written;
  double cost = of_written;
  const auto take = [&](const raw_program& r, double c) {
    cost = c;
    best = r;
  };
  const auto offer = [&](const raw_program& r) {
    if (r.broken.found) return;
    if (const double c = cost_of_rows<Backend>(r); c < cost) take(r, c);
  };
  // keeps what the forward stored, or computes it again; takes(r): is r taken whatever it costs?
  const auto offer_pushed = [&](const raw_program& sunk, auto takes) {
    gather_pushing pushing(sunk);
    const bool nested = pushing.has_rows_of_rows();
    const raw_program kept = pushing.run();
    if (kept.broken.found) return;
    if (takes(kept)) take(kept, cost_of_rows<Backend>(kept));
    else offer(kept);
    if (leaves_residuals_open(sunk) && !fits_into_cache<Backend>(kept))
      offer(gather_pushing(sunk, true).run());
    if (nested) {
      const raw_program in_turn = gather_pushing(sunk, false, true).run();
      if (!in_turn.broken.found) offer(gather_pushing(in_turn).run());
    }
  };
  if (some) {
    scatter_sinking one(written);
    const raw_program sunk = one.run(no_node);
    // also where it costs more: what is left out counts as exactly zero
    offer_pushed(sunk, [](const raw_program&) { return true; });
    if (one.lists_meet()) // each goes on by itself
      offer_pushed(scatter_sinking(written, true).run(no_node), [](const raw_program&) { return false; });
    const auto has_fewer_dense = [&](const raw_program& r) { return densified(r) < densified(best); };
    if (densified(best) > 0)
      for (const shape& group : groups_of_selected(written)) {
        const raw_program merged = axis_merging(written, group).run(no_node).program;
        if (merged.broken.found) continue;
        scatter_sinking sinking(merged);
        offer_pushed(sinking.run(no_node), has_fewer_dense);
        if (sinking.lists_meet()) offer_pushed(scatter_sinking(merged, true).run(no_node), has_fewer_dense);
      }
  }
  const vec<int> masks = masks_of(p.nodes, N);
  vec<char> tried(masks.size(), 0);
  // the best of those that are given, also where it costs more, for the same reason; returns: is there one?
  const auto take_given = [&](auto is_given) {
    raw_program given;
    double least = 0;
    for (int k = 0; k < masks.size(); ++k) {
      if (!is_given(masks[k])) continue;
      with_rows_of_mask(written, masks[k], [&](const raw_program& r) {
        if (r.broken.found || !has_rows_of_mask(r)) return;
        tried[k] = 1;
        const double c = cost_of_rows<Backend>(r);
        if (!given.outputs.empty() && c >= least) return;
        given = r;
        least = c;
      });
    }
    if (given.outputs.empty()) return false;
    take(given, least);
    return true;
  };
  if (!chosen && !take_given([&](int m) { return is_given_condition(p.nodes, m); }))
    take_given([&](int m) { return weighs_losses(p.nodes, N, m); });
  for (int k = 0; k < masks.size(); ++k) {
    if (tried[k] != 0) continue;
    with_rows_of_mask(written, masks[k], [&](const raw_program& r) {
      if (is_weight_of_program(p.nodes, masks[k]) && cost_of_rows<Backend>(r) > most_with_weights(of_written))
        return;
      offer(r);
    });
  }
  return best;
}

} // namespace tapeless::detail
