// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which program runs, of those that are rewritten for their rows (scatter_sinking.hpp, gather_pushing.hpp). Lists of
// rows are taken as the user has them. A mask (masks.hpp) is the list of its rows that are not zero. Conditions and weights
// that are given are always taken, for each loss its own (joined_masks.hpp), so that what a row that is left out counts for
// does not depend on the size of the network; of the others the one that saves most is taken besides. Where the user lists
// rows of losses, masks may be those of the rows that are listed. Where the program chooses rows itself, masks compete with
// its lists by cost.
#pragma once
#include "gather_pushing.hpp"
#include "joined_masks.hpp"
#include "masks.hpp"
#include "merged_axes.hpp"
#include "row_cost.hpp"
#include "scatter_sinking.hpp"

namespace tapeless::detail {

constexpr bool selects(const node* nodes, const node& v) {
  if (v.o != op::gather && (v.o != op::scatter_add || !v.adjoint)) return v.o == op::select;
  const node& all = v.o == op::gather ? nodes[v.in[0]] : v; // a gradient alone has no gather
  return lists_rows(nodes[v.in[1]], all.s.d[static_cast<int>(v.attr)]);
}

// Is some product of rows of that number alone?
constexpr bool has_products_of(const raw_program& p, extent_t count) {
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
// How many cotangents of few rows get all of them.
constexpr int densified(const raw_program& p) {
  const vec<node> nodes = nodes_of(p);
  int n = 0;
  for (int i = 0; i < nodes.size(); ++i) n += densifies(&nodes[0], nodes.size(), i) ? 1 : 0;
  return n;
}

// Masks of several axes.
constexpr vec<int> masks_of_axes(const raw_program& p) {
  const vec<node> nodes = nodes_of(p);
  vec<int> r;
  for (const int m : masks_of(&nodes[0], nodes.size()))
    if (squeezed(nodes[m].s).rank > 1) r.push_back(m);
  return r;
}

// A weight that the program computes is often zero nowhere, as a focal one may be, or nearly so: then there are copies of
// rows for which nothing is saved. Where this much is saved with three rows in four, in ns, steps were within 3 % of the dense
// one with no row left out, within 9 % with a single one.
constexpr double most_with_weights(double dense) { return 0.1 * dense > 20e3 ? 0.9 * dense : dense - 20e3; }

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
  offer_pushed(one.run(), [](const raw_program&) { return true; });
  if (one.lists_meet()) // each goes on by itself
    offer_pushed(scatter_sinking(written, true).run(), [](const raw_program&) { return false; });
  if (densified(best.program) == 0) return;
  const auto has_fewer_dense = [&](const raw_program& r) { return densified(r) < densified(best.program); };
  for (const shape& group : groups_of_selected(written)) {
    const raw_program merged = axis_merging(written, group).run({});
    if (merged.broken.found) continue;
    scatter_sinking sinking(merged);
    offer_pushed(sinking.run(), has_fewer_dense);
    if (sinking.lists_meet()) offer_pushed(scatter_sinking(merged, true).run(), has_fewer_dense);
  }
}

// Masks of one axis that are left out whatever that costs: conditions that are given, and arguments that weigh losses, or
// their elements as one axis; rows: only rows of them that a list of masks keeps.
inline constexpr int max_given = 8;
constexpr vec<int> given_masks(const node* nodes, int size, const vec<int>& masks, bool rows = false) {
  vec<int> r;
  const auto add = [&](int m) {
    bool fits = squeezed(nodes[m].s).rank == 1 && r.size() < max_given &&
                (!rows || has_unwritten_name(numel(nodes[m].s)));
    for (const int k : r) // another shape of the same
      fits = fits &&
             (nodes[k].o != op::reshape || nodes[m].o != op::reshape || nodes[k].in[0] != nodes[m].in[0]);
    if (fits) r.push_back(m);
  };
  for (const int m : masks)
    if (is_given_condition(nodes, m)) add(m);
  for (int i = 0; i < size; ++i) {
    bool one_axis = nodes[i].o == op::input || (rows && nodes[i].o == op::gather);
    int x = i;
    while (nodes[x].o == op::gather || (rows && nodes[x].o == op::copy) || rule(nodes[x].o).k == kind::view) {
      x = nodes[x].in[0];
      one_axis = one_axis || (nodes[i].o == op::reshape && squeezed(nodes[x].s).rank > 1);
    }
    if (one_axis && nodes[x].weighs && !nodes[x].active) add(i);
  }
  return r;
}

// Axes of weights of losses that have several, made one.
constexpr raw_program with_weights_of_rows(raw_program p) {
  vec<shape> groups;
  for (const node& v : p.nodes)
    if (v.o == op::input && v.weighs && !v.active && squeezed(v.s).rank > 1) add_group(groups, squeezed(v.s));
  for (const shape& group : groups) {
    vec<int> weights;
    for (int i = 0; i < p.nodes.size(); ++i)
      if (p.nodes[i].weighs && squeezed(p.nodes[i].s) == group) weights.push_back(i);
    if (const raw_program merged = axis_merging(p, group).run(weights); !merged.broken.found) p = merged;
  }
  return p;
}

constexpr vec<int> given_masks(const raw_program& p, bool rows = false) {
  const vec<node> nodes = nodes_of(p);
  return given_masks(&nodes[0], nodes.size(), masks_of(&nodes[0], nodes.size()), rows);
}
// The program in which what masks weigh that are given is zero where they are, whatever a loss has there: w * l becomes
// where(w != 0, w * l, 0).
constexpr raw_program zeroed_by_masks(const raw_program& written) {
  const raw_program p = with_weights_of_rows(written);
  const vec<int> masks = given_masks(p);
  if (masks.empty()) return written;
  const raw_program zeroed = mask_joining(p, masks).with_zeros();
  if (zeroed.broken.found) return written;
  return zeroed;
}

// A program without the rows where masks are zero.
struct masked_program {
  raw_program program;
  unsigned masks = 0; // of these there are products of their rows alone
};
constexpr masked_program without_rows(const raw_program& p, const mask_joining::result& joined,
                                      bool covers = false) {
  scatter_sinking sinking(joined.program);
  masked_program r{gather_pushing(sinking.run(joined.masks, covers)).run()};
  const int first = unwritten_counts(p);
  for (int k = 0; k < sinking.lists_of_masks().size() && !r.program.broken.found; ++k) {
    if (!has_products_of(r.program, unwritten_extent(first + k))) continue;
    for (int j = 0; j < joined.sets.size(); ++j)
      if ((sinking.lists_of_masks()[k].masks >> j & 1u) != 0) r.masks |= joined.sets[j];
  }
  return r;
}
constexpr masked_program without_rows(const raw_program& p, const vec<int>& masks) {
  if (masks.size() == 1) return without_rows(p, mask_joining::result{p, masks, vec<unsigned>(1, 1u)});
  return without_rows(p, mask_joining(p, masks).run());
}
// The same where several losses may have masks of their own: first without the rows that none of them counts. Of the others
// each is to get its own by with_rest_of_rows.
constexpr masked_program without_rows_of_all(const raw_program& p, const vec<int>& masks) {
  if (masks.size() == 1) return without_rows(p, masks);
  const mask_joining::result joined = mask_joining(p, masks).run(mask_joining::use::united);
  if (joined.losses < 2) return without_rows(p, joined);
  bool adjoint = false;
  for (const node& v : p.nodes) adjoint = adjoint || v.adjoint;
  if ((joined.blocks && adjoint) || joined.masks.size() > 1) return without_rows(p, masks);
  masked_program r = without_rows(p, joined);
  if (r.masks == 0) return without_rows(p, masks);
  r.program.rest = joined.losses;
  return r;
}

inline constexpr int max_masks = 4; // are tried, of those that are left out only where it saves something

// Of the rewritings of a program for masks: the only one; the first, which may leave the masks of several losses to
// with_rest_of_rows; that one, which takes masks that are given and tries no others.
enum class row_pass { only, first, rest };

// The best of the programs without the rows of some masks: one that leaves out the most of those that are given, where
// `forces`, also where that costs more; of these the one with the fewest cotangents of all rows; the cheapest.
template <class Backend> class mask_choosing {
  double of_written_;
  bool forces_, zeroed_;
  row_pass pass_;
  costed_program best_;
  int given_ = 0, dense_ = 0; // masks that it leaves out; cotangents with all rows nevertheless
  int most_given_ = 0;        // masks that it is to leave out

  constexpr void offer(const raw_program& r, double cost, int given) {
    const int dense = densified(r);
    if (given < given_ || (given > 0 && given == given_ && dense > dense_)) return;
    if (given > given_ || (given > 0 && dense < dense_)) best_ = {};
    given_ = given;
    dense_ = dense;
    best_.offer(r, cost);
  }
  // Takes the masks of one axis that p has, a program of the same results; @return those whose rows other axes may have, and
  // those of several axes
  constexpr vec<int> choose_in(const raw_program& p) {
    const vec<node> all_nodes = nodes_of(p);
    const node* const nodes = &all_nodes[0];
    const vec<int> masks = masks_of(nodes, all_nodes.size());
    vec<int> left, all; // all: those that are given
    for (const int m : masks)
      if (squeezed(nodes[m].s).rank > 1) left.push_back(m);
    double most = of_written_;
    int given = 0; // of them that leave rows out
    if (forces_) all = given_masks(nodes, all_nodes.size(), masks);
    if (all.size() > most_given_) most_given_ = all.size();
    if (!all.empty()) {
      masked_program r;
      if (pass_ == row_pass::first) r = without_rows_of_all(p, all);
      else r = without_rows(p, all);
      const bool stays_dense = densified(r.program) > 0;
      for (int k = 0; k < all.size(); ++k) {
        const bool has_rows = (r.masks >> k & 1u) != 0;
        given += has_rows ? 1 : 0;
        if (!has_rows || stays_dense) left.push_back(all[k]);
      }
      if (given > 0 && !r.program.broken.found) {
        most = cost_of_rows<Backend>(r.program);
        offer(r.program, most, given);
      }
      if (r.program.rest != no_rest) return left;
    }
    if (pass_ == row_pass::rest) return left;
    int tried = 0;
    for (const int m : masks) {
      const bool is_weight = is_given_weight(nodes, m);
      if (squeezed(nodes[m].s).rank > 1) continue;
      if ((given > 0 || zeroed_) && (is_weight || is_given_condition(nodes, m))) continue;
      if (++tried > max_masks) break;
      vec<int> with;
      if (given > 0) with = all;
      with.push_back(m);
      const masked_program r = without_rows(p, with);
      if (r.masks >> (with.size() - 1) == 0 || densified(r.program) > 0) left.push_back(m);
      if (r.program.broken.found) continue;
      const double cost = cost_of_rows<Backend>(r.program);
      const bool by_program = is_weight_of_program(nodes, m) && !is_weight;
      if (cost < (by_program ? most_with_weights(most) : most)) offer(r.program, cost, given);
    }
    return left;
  }

public:
  // zeroed: no mask that is given is tried by itself
  constexpr mask_choosing(const raw_program& written, double of_written, bool forces, row_pass pass,
                          bool zeroed = false)
      : of_written_(of_written), forces_(forces), zeroed_(zeroed), pass_(pass) {
    const vec<int> left = choose_in(written);
    vec<shape> groups;
    for (const int m : left) {
      const shape rows = squeezed(written.nodes[m].s);
      if (rows.rank > 1) add_group(groups, rows);
      else add_groups_of(groups, written, rows.d[0]);
    }
    for (const shape& group : groups) {
      vec<int> masks;
      for (const int m : left)
        if (numel(written.nodes[m].s) == numel(group)) masks.push_back(m);
      if (const raw_program merged = axis_merging(written, group).run(masks); !merged.broken.found)
        choose_in(merged);
    }
  }
  constexpr const costed_program& best() const { return best_; }
  constexpr bool leaves_given_out() const { return given_ > 0; }
  constexpr bool saves_more_than(const mask_choosing& x) const {
    return leaves_given_out() && (dense_ < x.dense_ || (dense_ == x.dense_ && best_.cost < x.best_.cost));
  }
  constexpr bool leaves_all_given_out() const { return given_ > 0 && given_ == most_given_; }
};

// What a first pass leaves to a second one, which is a constant of its own: compilers limit what one may take.
// Masks of several axes are those of rows that are kept, as m in sum(s * sum<1>(m * l)), where s is left out.
// @return a broken program where fewer masks are found in p
template <class Backend, int N, int O>
constexpr raw_program with_rest_of_rows(const program<N, O>& p, int rest) {
  const raw_program written = written_as(p);
  if (rest == rest_of_axes) {
    const mask_choosing<Backend> choosing(written, cost_of_rows<Backend>(written), true, row_pass::rest);
    if (choosing.leaves_given_out()) return choosing.best().program;
    return written;
  }
  const vec<int> masks = given_masks(written, true); // mask_joining keeps a reference
  const mask_joining::result joined = mask_joining(written, masks).run();
  if (joined.losses >= rest)
    return without_rows(written, joined, joined.masks.size() == joined.losses).program;
  raw_program none;
  none.broken.found = true;
  return none;
}
// In its place, where lists of each loss's rows do not pay: zeros in the others.
template <int N, int O> constexpr raw_program with_zeros_in_rest_of_rows(const program<N, O>& p) {
  const raw_program written = written_as(p);
  const vec<int> masks = given_masks(written, true);
  return mask_joining(written, masks).with_zeros();
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
    if (best.program.rest == no_rest && !masks_of_axes(best.program).empty())
      best.program.rest = rest_of_axes;
  } else if (masked.found() && masked.cost < best.cost) best = masked;
  if (!chosen && !zeroed && !choosing.leaves_all_given_out() &&
      !given_masks(with_weights_of_rows(written)).empty())
    best.program.rest = rest_of_zeros;
  return best.program;
}

} // namespace tapeless::detail
