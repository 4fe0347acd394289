// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which masks of rows (plan/analysis/masks.hpp) leave rows out. Conditions and weights that are given are always taken, for each loss its
// own (plan/rewrite/combine_masks.hpp), so that what a row that is left out counts for does not depend on the size of the network; of the
// others the one that saves most is taken besides.
#pragma once
#include "../analysis/graph_rewriter.hpp"
#include "../analysis/masks.hpp"
#include "candidates.hpp"
#include "collapse_axes.hpp"
#include "combine_masks.hpp"
#include "gather_pushdown.hpp"
#include "scatter_pullup.hpp"

namespace tapeless::detail {

// Is some product of rows of that number alone?
constexpr bool has_products_of(const raw_program& p, extent_t count) {
  for (const node& v : p.nodes) {
    if (!is_heavy(v.o)) continue;
    for (const int x : v.in)
      if (x >= 0 && has_name_of(numel(p.nodes[x].s), count)) return true;
  }
  return false;
}
// Masks of one axis that are left out whatever that costs: conditions that are given, and arguments that weigh losses, or
// their elements as one axis; rows: only rows of them that a list of masks keeps.
inline constexpr int max_given = 8;
constexpr vec<int> masks_before_forward(const node* nodes, int size, const vec<int>& masks,
                                        bool rows = false) {
  vec<int> r;
  const auto add = [&](int m) {
    bool fits = squeezed(nodes[m].s).rank == 1 && r.size() < max_given &&
                (!rows || has_generated_name(numel(nodes[m].s)));
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
    if (one_axis && nodes[x].is_loss_weight && !nodes[x].active) add(i);
  }
  return r;
}

// Axes of weights of losses that have several, made one.
constexpr raw_program with_weights_of_rows(raw_program p) {
  vec<shape> groups;
  for (const node& v : p.nodes)
    if (v.o == op::input && v.is_loss_weight && !v.active && squeezed(v.s).rank > 1)
      add_group(groups, squeezed(v.s));
  for (const shape& group : groups) {
    vec<int> weights;
    for (int i = 0; i < p.nodes.size(); ++i)
      if (p.nodes[i].is_loss_weight && squeezed(p.nodes[i].s) == group) weights.push_back(i);
    if (const raw_program merged = collapse_axes(p, group).run(weights); !merged.broken.found) p = merged;
  }
  return p;
}

constexpr vec<int> masks_before_forward(const raw_program& p, bool rows = false) {
  const vec<node> nodes = nodes_of(p);
  return masks_before_forward(&nodes[0], nodes.size(), masks_of(&nodes[0], nodes.size()), rows);
}
// The program in which what masks weigh that are given is zero where they are, whatever a loss has there: w * l becomes
// where(w != 0, w * l, 0).
constexpr raw_program zeroed_by_masks(const raw_program& written) {
  const raw_program p = with_weights_of_rows(written);
  const vec<int> masks = masks_before_forward(p);
  if (masks.empty()) return written;
  const raw_program zeroed = combine_masks(p, masks).with_zeros();
  if (zeroed.broken.found) return written;
  return zeroed;
}

// A program without the rows where masks are zero.
struct masked_program {
  raw_program program;
  unsigned masks = 0; // of these there are products of their rows alone
};
constexpr masked_program without_rows(const raw_program& p, const combine_masks::result& joined,
                                      bool covers = false) {
  scatter_pullup sinking(joined.program);
  masked_program r{gather_pushdown(sinking.run(joined.masks, covers)).run()};
  const int first = unwritten_counts(p);
  for (int k = 0; k < sinking.lists_of_masks().size() && !r.program.broken.found; ++k) {
    if (!has_products_of(r.program, unwritten_extent(first + k))) continue;
    for (int j = 0; j < joined.sets.size(); ++j)
      if ((sinking.lists_of_masks()[k].masks >> j & 1u) != 0) r.masks |= joined.sets[j];
  }
  return r;
}
constexpr masked_program without_rows(const raw_program& p, const vec<int>& masks) {
  if (masks.size() == 1) return without_rows(p, combine_masks::result{p, masks, vec<unsigned>(1, 1u)});
  return without_rows(p, combine_masks(p, masks).run());
}
// The same where several losses may have masks of their own: first without the rows that none of them counts. Of the others
// each is to get its own by with_rest_of_rows.
constexpr masked_program without_rows_of_all(const raw_program& p, const vec<int>& masks) {
  if (masks.size() == 1) return without_rows(p, masks);
  const combine_masks::result joined = combine_masks(p, masks).run(combine_masks::use::united);
  if (joined.losses < 2) return without_rows(p, joined);
  bool adjoint = false;
  for (const node& v : p.nodes) adjoint = adjoint || v.adjoint;
  if ((joined.blocks && adjoint) || joined.masks.size() > 1) return without_rows(p, masks);
  masked_program r = without_rows(p, joined);
  if (r.masks == 0) return without_rows(p, masks);
  r.program.second_pass = joined.losses;
  return r;
}

// A weight that the program computes is often zero nowhere, as a focal one may be, or nearly so: then there are copies of
// rows for which nothing is saved. Where this much is saved with three rows in four, in ns, steps were within 3 % of the dense
// one with no row left out, within 9 % with a single one.
constexpr double most_with_weights(double dense) { return 0.1 * dense > 20e3 ? 0.9 * dense : dense - 20e3; }

// Masks that are left out only where it saves something: so many are tried, the later ones while the programs tried so far
// have this many nodes at most. g++'s limit of operations in one constant was met at some 660.
inline constexpr int max_masks = 4, max_tried_nodes = 400;

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
  int tried_nodes_ = 0;       // of the programs that were tried

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
    if (forces_) all = masks_before_forward(nodes, all_nodes.size(), masks);
    if (all.size() > most_given_) most_given_ = all.size();
    if (!all.empty()) {
      tried_nodes_ += p.nodes.size();
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
      if (r.program.second_pass != no_second_pass) return left;
    }
    if (pass_ == row_pass::rest) return left;
    int tried = 0;
    for (const int m : masks) {
      const bool is_weight = is_given_weight(nodes, m);
      if (squeezed(nodes[m].s).rank > 1) continue;
      if ((given > 0 || zeroed_) && (is_weight || is_given_condition(nodes, m))) continue;
      if (++tried > max_masks || (tried > 1 && tried_nodes_ > max_tried_nodes)) break;
      tried_nodes_ += p.nodes.size();
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
      if (const raw_program merged = collapse_axes(written, group).run(masks); !merged.broken.found)
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

} // namespace tapeless::detail
