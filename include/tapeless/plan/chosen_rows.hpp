// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which program runs, of those that are rewritten for their rows (sparse_rows.hpp). Lists of rows are taken as the user has
// them. A mask (masks.hpp) is the list of its rows that are not zero; the one that saves most is taken so. Where none saves
// anything, a condition that is given is, or else a given weight of losses, so that what a row that it leaves out counts
// for does not depend on the size of the network.
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
  struct candidate {
    raw_program program;
    double cost = -1; // none
    constexpr void offer(const raw_program& r, double c) {
      if (cost >= 0 && c >= cost) return;
      program = r;
      cost = c;
    }
  };
  candidate condition, weight, cheapest;
  for (const int m : masks) {
    const bool is_condition = is_given_condition(p.nodes, m), is_weight = is_given_weight(p.nodes, m);
    const double most =
        is_weight_of_program(p.nodes, m) && !is_weight ? most_with_weights(of_written) : of_written;
    with_rows_of_mask(written, m, [&](const raw_program& r) {
      if (r.broken.found) return;
      const double c = cost_of_rows<Backend>(r);
      if (c < most) cheapest.offer(r, c);
      if ((is_condition || is_weight) && !chosen && has_rows_of_mask(r))
        (is_condition ? condition : weight).offer(r, c);
    });
  }
  // given conditions, and arguments that weigh losses, of as many rows as the first one
  vec<int> alike;
  const auto add = [&](int m) {
    const shape rows = squeezed(p.nodes[m].s);
    const bool fits = rows.rank == 1 && (alike.empty() || rows == squeezed(p.nodes[alike[0]].s));
    if (fits && alike.size() < 2 * max_masks) alike.push_back(m);
  };
  for (const int m : masks)
    if (is_given_condition(p.nodes, m)) add(m);
  for (int i = 0; i < N; ++i)
    if (p.nodes[i].weighs && !p.nodes[i].active) add(i);
  candidate together;
  if (!chosen && alike.size() > 1) {
    mask_joining joining(written, alike);
    if (const mask_joining::set several = joining.largest(); several != 0) {
      const mask_joining::result q = joining.run(several);
      with_rows_of_mask(q.program, q.mask, [&](const raw_program& r) {
        if (!r.broken.found && has_rows_of_mask(r)) together.offer(r, cost_of_rows<Backend>(r));
      });
    }
  }
  const candidate& given = together.cost >= 0 ? together : condition.cost >= 0 ? condition : weight;
  if (given.cost >= 0) take(given.program, given.cost);
  // masks of one loss save about the same, those of another one more or less
  const double least = given.cost >= 0 ? 0.9 * cost : cost;
  if (cheapest.cost >= 0 && cheapest.cost < least) take(cheapest.program, cheapest.cost);
  return best;
}

} // namespace tapeless::detail
