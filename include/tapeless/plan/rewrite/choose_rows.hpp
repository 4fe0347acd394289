// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which program runs, of those that are rewritten for their rows (plan/rewrite/scatter_pullup.hpp, plan/rewrite/gather_pushdown.hpp). Lists of
// rows are taken as the user has them. A mask is the list of its rows that are not zero (plan/rewrite/choose_masks.hpp). Where the user
// lists rows of losses, masks may be those of the rows that are listed. Where the program chooses rows itself, masks compete
// with its lists by cost.
#pragma once
#include "../analysis/masks.hpp"
#include "../analysis/rows.hpp"
#include "candidates.hpp"
#include "choose_masks.hpp"
#include "combine_masks.hpp"
#include "gather_pushdown.hpp"
#include "scatter_pullup.hpp"

namespace tapeless::detail {

constexpr bool selects(const node* nodes, const node& v) {
  if (v.o != op::gather && (v.o != op::scatter_add || !v.adjoint)) return v.o == op::select;
  const node& all = v.o == op::gather ? nodes[v.in[0]] : v; // a gradient alone has no gather
  return lists_rows(nodes[v.in[1]], all.s.d[static_cast<int>(v.attr)]);
}

// Is there anything for with_sparse_rows to do? Other programs stay as they are.
constexpr bool selects_rows(const node* nodes, int size) {
  for (int i = 0; i < size; ++i)
    if (selects(nodes, nodes[i])) return true;
  return !masks_of(nodes, size, true).empty();
}

// Does the user list rows of what comes of a product, as of losses? Lookups are rows of an argument.
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
// Masks of several axes.
constexpr vec<int> masks_of_axes(const raw_program& p) {
  const vec<node> nodes = nodes_of(p);
  vec<int> r;
  for (const int m : masks_of(&nodes[0], nodes.size()))
    if (squeezed(nodes[m].s).rank > 1) r.push_back(m);
  return r;
}

// Is it for the cost model to say whether rows are computed again?
constexpr bool leaves_residuals_open(const raw_program& p) {
  for (const node& v : p.nodes)
    if (v.o == op::select && attributes_of_select(v).is_open()) return true;
  return false;
}

// The lists of rows that a program has, also where they cost more: what they leave out counts as exactly zero.
template <class Backend> constexpr void choose_lists(const raw_program& written, costed_program& best) {
  // keeps what the forward stored, or computes it again; takes(r): is r taken whatever it costs?
  const auto offer_pushed = [&](const raw_program& sunk, auto takes) {
    const auto offer = [&](const raw_program& r) {
      if (!r.broken.found) best.offer(r, cost_of_rows<Backend>(r));
    };
    gather_pushdown pushing(sunk);
    const bool nested = pushing.has_rows_of_rows();
    const raw_program kept = pushing.run();
    if (kept.broken.found) return;
    if (takes(kept)) best.take(kept, cost_of_rows<Backend>(kept));
    else offer(kept);
    if (leaves_residuals_open(sunk) && !fits_into_cache<Backend>(kept))
      offer(gather_pushdown(sunk, true).run());
    if (nested) {
      const raw_program in_turn = gather_pushdown(sunk, false, true).run();
      if (!in_turn.broken.found) offer(gather_pushdown(in_turn).run());
    }
  };
  scatter_pullup one(written);
  offer_pushed(one.run(), [](const raw_program&) { return true; });
  if (one.lists_meet()) // each goes on by itself
    offer_pushed(scatter_pullup(written, true).run(), [](const raw_program&) { return false; });
  if (densified(best.program) == 0) return;
  const auto has_fewer_dense = [&](const raw_program& r) { return densified(r) < densified(best.program); };
  for (const shape& group : groups_of_selected(written)) {
    const raw_program merged = collapse_axes(written, group).run({});
    if (merged.broken.found) continue;
    scatter_pullup sinking(merged);
    offer_pushed(sinking.run(), has_fewer_dense);
    if (sinking.lists_meet()) offer_pushed(scatter_pullup(merged, true).run(), has_fewer_dense);
  }
}

// What a first pass leaves to a second one, which is a constant of its own: compilers limit what one may take.
// Masks of several axes are those of rows that are kept, as m in sum(s * sum<1>(m * l)), where s is left out.
// @return a broken program where fewer masks are found in p
template <class Backend, int N, int O>
constexpr raw_program with_rest_of_rows(const program<N, O>& p, int rest) {
  const raw_program written = written_as(p);
  if (rest == second_pass_of_axes) {
    const mask_choosing<Backend> choosing(written, cost_of_rows<Backend>(written), true, row_pass::rest);
    if (choosing.leaves_given_out()) return choosing.best().program;
    return written;
  }
  const vec<int> masks = masks_before_forward(written, true); // mask_joining keeps a reference
  const combine_masks::result joined = combine_masks(written, masks).run();
  if (joined.losses >= rest)
    return without_rows(written, joined, joined.masks.size() == joined.losses).program;
  raw_program none;
  none.broken.found = true;
  return none;
}
// In its place, where lists of each loss's rows do not pay: zeros in the others.
template <int N, int O> constexpr raw_program with_zeros_in_rest_of_rows(const program<N, O>& p) {
  const raw_program written = written_as(p);
  const vec<int> masks = masks_before_forward(written, true);
  return combine_masks(written, masks).with_zeros();
}
template <class Backend, int N, int M, int O>
constexpr bool costs_no_more(const program<N, O>& p, const program<M, O>& than) {
  return cost_of_rows<Backend>(written_as(p)) <= cost_of_rows<Backend>(written_as(than));
}

// zeroed: p is what zeroed_by_masks makes
// @pre pass is `only` or `first`
// @return with rest_of_zeros: to be made of the zeroed program, for masks that are given have rows that are computed
template <class Backend, int N, int O>
constexpr raw_program with_sparse_rows(const program<N, O>& p, row_pass pass, bool zeroed) {
  bool some = false, chosen = false; // lists of rows; of those some that the program chooses
  for (int i = 0; i < N; ++i) {
    some = some || selects(p.nodes, p.nodes[i]);
    chosen = chosen || p.nodes[i].o == op::select;
  }
  raw_program written; // no conditional operator: g++ 12 frees what it copies
  if (chosen) written = zeroed_by_masks(written_as(p));
  else written = written_as(p);
  const double of_written = cost_of_rows<Backend>(written);
  costed_program best;
  best.take(written, of_written);
  if (some) choose_lists<Backend>(written, best);
  mask_choosing<Backend> choosing(written, of_written, !chosen, pass, zeroed);
  if (!chosen && choosing.leaves_given_out() && lists_losses(p.nodes, N)) {
    const mask_choosing<Backend> of_listed(best.program, best.cost, true, pass, zeroed);
    if (of_listed.saves_more_than(choosing)) choosing = of_listed;
  }
  if (const costed_program& masked = choosing.best(); choosing.leaves_given_out()) {
    best = masked;
    if (best.program.second_pass == no_second_pass && !masks_of_axes(best.program).empty())
      best.program.second_pass = second_pass_of_axes;
  } else if (masked.found() && masked.cost < best.cost) best = masked;
  if (!chosen && !zeroed && !choosing.leaves_all_given_out() &&
      !masks_before_forward(with_weights_of_rows(written)).empty())
    best.program.second_pass = second_pass_of_zeros;
  return best.program;
}

} // namespace tapeless::detail
