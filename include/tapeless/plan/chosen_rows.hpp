// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which program runs, of those that are rewritten for their rows (sparse_rows.hpp). Lists of rows are taken as the user has
// them. A mask (masks.hpp) is the list of its rows that are not zero; the one that saves most is taken so. Where none saves
// anything, those conditions and weights of one loss that are given are taken together (joined_masks.hpp), or one of them, so
// that what a row that is left out counts for does not depend on the size of the network.
#pragma once
#include "joined_masks.hpp"
#include "masks.hpp"
#include "merged_axes.hpp"
#include "row_cost.hpp"

namespace tapeless::detail {

constexpr bool selects(const node* nodes, const node& v) {
  if (v.o != op::gather && (v.o != op::scatter_add || !v.adjoint)) return v.o == op::select;
  const node& all = v.o == op::gather ? nodes[v.in[0]] : v; // a gradient alone has no gather
  return lists_rows(nodes[v.in[1]], all.s.d[static_cast<int>(v.attr)]);
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

struct costed_program {
  raw_program program;
  double cost = -1; // none
  constexpr bool found() const { return cost >= 0; }
  constexpr void take(const raw_program& r, double c) {
    program = r;
    cost = c;
  }
  constexpr void offer(const raw_program& r, double c) {
    if (!found() || c < cost) take(r, c);
  }
};

// The lists of rows that a program has, also where they cost more: what they leave out counts as exactly zero.
template <class Backend> constexpr void choose_lists(const raw_program& written, costed_program& best) {
  // keeps what the forward stored, or computes it again; takes(r): is r taken whatever it costs?
  const auto offer_pushed = [&](const raw_program& sunk, auto takes) {
    const auto offer = [&](const raw_program& r) {
      if (!r.broken.found) best.offer(r, cost_of_rows<Backend>(r));
    };
    gather_pushing pushing(sunk);
    const bool nested = pushing.has_rows_of_rows();
    const raw_program kept = pushing.run();
    if (kept.broken.found) return;
    if (takes(kept)) best.take(kept, cost_of_rows<Backend>(kept));
    else offer(kept);
    if (leaves_residuals_open(sunk) && !fits_into_cache<Backend>(kept))
      offer(gather_pushing(sunk, true).run());
    if (nested) {
      const raw_program in_turn = gather_pushing(sunk, false, true).run();
      if (!in_turn.broken.found) offer(gather_pushing(in_turn).run());
    }
  };
  scatter_sinking one(written);
  offer_pushed(one.run(no_node), [](const raw_program&) { return true; });
  if (one.lists_meet()) // each goes on by itself
    offer_pushed(scatter_sinking(written, true).run(no_node), [](const raw_program&) { return false; });
  if (densified(best.program) == 0) return;
  const auto has_fewer_dense = [&](const raw_program& r) { return densified(r) < densified(best.program); };
  for (const shape& group : groups_of_selected(written)) {
    const raw_program merged = axis_merging(written, group).run(no_node).program;
    if (merged.broken.found) continue;
    scatter_sinking sinking(merged);
    offer_pushed(sinking.run(no_node), has_fewer_dense);
    if (sinking.lists_meet()) offer_pushed(scatter_sinking(merged, true).run(no_node), has_fewer_dense);
  }
}

// Given conditions, and arguments that weigh losses, of as many rows as the first of them.
constexpr vec<int> given_masks(const node* nodes, int size, const vec<int>& masks) {
  vec<int> r;
  const auto add = [&](int m) {
    const shape rows = squeezed(nodes[m].s);
    const bool fits = rows.rank == 1 && (r.empty() || rows == squeezed(nodes[r[0]].s));
    if (fits && r.size() < 2 * max_masks) r.push_back(m);
  };
  for (const int m : masks)
    if (is_given_condition(nodes, m)) add(m);
  for (int i = 0; i < size; ++i)
    if (nodes[i].weighs && !nodes[i].active) add(i);
  return r;
}

// force: is a mask that is given taken also where it costs more than `written`?
template <class Backend>
constexpr void choose_masks(const raw_program& written, const node* nodes, int size, double of_written,
                            bool force, costed_program& best) {
  const vec<int> masks = masks_of(nodes, size);
  costed_program condition, weight, together, cheapest;
  for (const int m : masks) {
    const bool is_condition = is_given_condition(nodes, m), is_weight = is_given_weight(nodes, m);
    const double most =
        is_weight_of_program(nodes, m) && !is_weight ? most_with_weights(of_written) : of_written;
    with_rows_of_mask(written, m, [&](const raw_program& r) {
      if (r.broken.found) return;
      const double c = cost_of_rows<Backend>(r);
      if (c < most) cheapest.offer(r, c);
      if (force && (is_condition || is_weight) && has_rows_of_mask(r))
        (is_condition ? condition : weight).offer(r, c);
    });
  }
  if (const vec<int> several = given_masks(nodes, size, masks); force && several.size() > 1) {
    mask_joining joining(written, several);
    if (const mask_joining::set joined = joining.largest(); joined != 0) {
      const mask_joining::result q = joining.run(joined);
      with_rows_of_mask(q.program, q.mask, [&](const raw_program& r) {
        if (!r.broken.found && has_rows_of_mask(r)) together.offer(r, cost_of_rows<Backend>(r));
      });
    }
  }
  // masks of one loss save about the same of the products, those of another one more or less
  const auto products = [](const costed_program& a) {
    return cost_of_products<Backend>(a.program, assumed_extents(a.program));
  };
  const auto saves_more = [&](const costed_program& a, const costed_program& b) {
    return a.found() && (!b.found() || products(a) < 0.9 * products(b));
  };
  const costed_program& one = condition.found() ? condition : weight;
  const costed_program& given = together.found() && !saves_more(one, together) ? together : one;
  if (given.found() && !saves_more(cheapest, given)) best = given;
  else if (cheapest.found() && cheapest.cost < best.cost) best = cheapest;
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
  costed_program best;
  best.take(written, of_written);
  if (some) choose_lists<Backend>(written, best);
  choose_masks<Backend>(written, p.nodes, N, of_written, !chosen, best);
  return best.program;
}

} // namespace tapeless::detail
