// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// with_sparse_rows: the best of the programs rewritten for their rows (scatter_pullup.hpp, gather_pushdown.hpp). Lists
// of rows of the user are always applied. A mask is the list of its nonzero rows (choose_masks.hpp). If the user lists
// rows of losses, a mask may apply to the listed rows. If the program selects rows itself, masks compete with its lists
// by cost.
#pragma once
#include "../../expr/program.hpp"
#include "../../ops/conv.hpp"
#include "../../ops/select.hpp"
#include "../analysis/densify.hpp"
#include "../analysis/masks.hpp"
#include "candidates.hpp"
#include "choose_masks.hpp"
#include "combine_masks.hpp"
#include "gather_pushdown.hpp"
#include "scatter_pullup.hpp"

namespace tapeless::detail {

constexpr bool selects(const node* nodes, const node& v) {
  if (v.o != op::gather && (v.o != op::scatter_add || !v.adjoint)) return v.o == op::select;
  const node& all = v.o == op::gather ? nodes[v.in[0]] : v; // a program of a gradient alone has no gather
  return lists_rows(nodes[v.in[1]], all.s.d[static_cast<int>(v.attr)]);
}

// Has with_sparse_rows anything to do? If not, the program stays as it is.
constexpr bool selects_rows(const node* nodes, int size) {
  for (int i = 0; i < size; ++i)
    if (selects(nodes, nodes[i])) return true;
  return !masks_of(nodes, size, true).empty();
}

// Does the user list rows of losses, that is, of what is computed from a product? Lookups list rows of an argument.
constexpr bool lists_losses(const node* nodes, int size) {
  vec<char> network(size, 0);
  for (int i = 0; i < size; ++i) {
    const node& v = nodes[i];
    network[i] = is_heavy(v.o) ? 1 : 0;
    for (const int x : v.in)
      if (x >= 0 && network[x] != 0) network[i] = 1;
    if (v.o == op::gather && network[v.in[0]] != 0 && selects(nodes, v)) return true;
  }
  return false;
}

// Groups of axes in place of rows that are selected from.
constexpr vec<shape> groups_of_selected(const raw_program& p) {
  vec<shape> r;
  for (const node& v : p.nodes) {
    if (v.o != op::gather) continue;
    const extent_t n = p.nodes[v.in[0]].s.d[static_cast<int>(v.attr)];
    if (lists_rows(p.nodes[v.in[1]], n)) add_groups_of(r, p, n);
  }
  return r;
}
// Masks of several axes.
constexpr vec<int> masks_of_axes(const raw_program& p) {
  const vec<node> nodes = nodes_of(p);
  vec<int> r;
  for (const int m : masks_of(&nodes[0], nodes.size()))
    if (squeezed(nodes[m].s).rank > 1) r.push_back(m);
  return r;
}

// Does a selection leave it to the cost model whether rows are computed again?
constexpr bool leaves_residuals_open(const raw_program& p) {
  for (const node& v : p.nodes)
    if (v.o == op::select && attributes_of_select(v).is_open()) return true;
  return false;
}

// Applies the lists of rows of a program, also if that costs more: rows that are left out count as exactly zero.
template <class Cost> constexpr void choose_lists(const raw_program& written, costed_program& best) {
  // Offers the program that keeps what the forward pass stored, and those that compute it again.
  // takes(r): is r taken at any cost?
  const auto offer_pushed_down = [&](const raw_program& pulled_up, auto takes) {
    const auto offer = [&](const raw_program& r) {
      if (!r.broken.found) best.offer(r, cost_of_rows<Cost>(r));
    };
    gather_pushdown pushdown(pulled_up);
    const bool nested = pushdown.has_rows_of_rows();
    const raw_program kept = pushdown.run();
    if (kept.broken.found) return;
    if (takes(kept)) best.take(kept, cost_of_rows<Cost>(kept));
    else offer(kept);
    if (leaves_residuals_open(pulled_up) && !fits_into_cache<Cost>(kept))
      offer(gather_pushdown(pulled_up, true).run());
    if (nested) {
      const raw_program in_turn = gather_pushdown(pulled_up, false, true).run();
      if (!in_turn.broken.found) offer(gather_pushdown(in_turn).run());
    }
  };
  scatter_pullup one(written);
  offer_pushed_down(one.run(), [](const raw_program&) { return true; });
  if (one.lists_meet()) // try it with the two lists apart, too
    offer_pushed_down(scatter_pullup(written, 2).run(), [](const raw_program&) { return false; });
  if (densified(best.program) == 0) return;
  const auto has_fewer_dense = [&](const raw_program& r) { return densified(r) < densified(best.program); };
  for (const shape& group : groups_of_selected(written)) {
    const raw_program collapsed = collapse_axes(written, group).run({});
    if (collapsed.broken.found) continue;
    scatter_pullup pullup(collapsed);
    offer_pushed_down(pullup.run(), has_fewer_dense);
    if (pullup.lists_meet()) offer_pushed_down(scatter_pullup(collapsed, 2).run(), has_fewer_dense);
  }
}

// The second pass. It is a constant of its own, for compilers limit the steps of one. Masks of several axes then are
// masks of rows that are kept, as m in sum(s * sum<1>(m * l)) after rows were left out by s.
// @return a broken program if fewer than `second_pass` losses have masks of their own
template <class Cost, int N, int O>
constexpr raw_program second_pass_of_rows(const program<N, O>& p, int second_pass) {
  raw_program written = written_as(p);
  if (second_pass == second_pass_of_axes) {
    const choose_masks<Cost> choosing(written, cost_of_rows<Cost>(written), true, row_pass::second);
    if (choosing.applies_masks()) return choosing.best().program;
    return written;
  }
  const vec<int> masks = masks_before_forward(written, true); // combine_masks keeps a reference
  const combine_masks::result combined = combine_masks(written, masks).run();
  if (combined.losses >= second_pass)
    return without_rows(written, combined, combined.masks.size() == combined.losses).program;
  raw_program none;
  none.broken.found = true;
  return none;
}
// In its place, if lists of the rows of each loss do not pay: zeros in the other rows.
template <int N, int O> constexpr raw_program with_zeros_in_rows(const program<N, O>& p) {
  const raw_program written = written_as(p);
  const vec<int> masks = masks_before_forward(written, true);
  return combine_masks(written, masks).with_zeros();
}
template <class Cost, int N, int M, int O>
constexpr bool costs_no_more(const program<N, O>& p, const program<M, O>& than) {
  return cost_of_rows<Cost>(written_as(p)) <= cost_of_rows<Cost>(written_as(than));
}

// zeroed: p is what zeroed_by_masks makes
// @pre pass is `only` or `first`
// @return .unfinished is second_pass_of_zeros if a mask known before the forward pass was not applied: then the
// program is to be made from the zeroed one
template <class Cost, int N, int O>
constexpr raw_program with_sparse_rows(const program<N, O>& p, row_pass pass, bool zeroed) {
  bool some = false, chosen = false; // it has lists of rows; it selects some itself
  for (int i = 0; i < N; ++i) {
    some = some || selects(p.nodes, p.nodes[i]);
    chosen = chosen || p.nodes[i].o == op::select;
  }
  raw_program written; // no conditional operator: g++ 12 frees what it copies
  if (chosen) written = zeroed_by_masks(written_as(p));
  else written = written_as(p);
  const double of_written = cost_of_rows<Cost>(written);
  costed_program best;
  best.take(written, of_written);
  if (some) choose_lists<Cost>(written, best);
  choose_masks<Cost> choosing(written, of_written, !chosen, pass, zeroed);
  if (!chosen && choosing.applies_masks() && lists_losses(p.nodes, N)) {
    const choose_masks<Cost> of_listed(best.program, best.cost, true, pass, zeroed);
    if (of_listed.saves_more_than(choosing)) choosing = of_listed;
  }
  if (const costed_program& masked = choosing.best(); choosing.applies_masks()) {
    best = masked;
    if (best.program.unfinished == no_second_pass && !masks_of_axes(best.program).empty())
      best.program.unfinished = second_pass_of_axes;
  } else if (masked.found() && masked.cost < best.cost) best = masked;
  if (!chosen && !zeroed && !choosing.applies_all_masks() &&
      !masks_before_forward(with_weights_of_rows(written)).empty())
    best.program.unfinished = second_pass_of_zeros;
  return best.program;
}

} // namespace tapeless::detail
