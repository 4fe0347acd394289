// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// choose_masks: which masks of rows (plan/analysis/masks.hpp) leave rows out. Masks known before the forward pass are
// always applied, for each loss its own (combine_masks.hpp). So the result never depends on the cost model. Of the
// other masks the one that saves most is applied, too.
#pragma once
#include "../analysis/graph_rewriter.hpp"
#include "../analysis/masks.hpp"
#include "candidates.hpp"
#include "collapse_axes.hpp"
#include "combine_masks.hpp"
#include "gather_pushdown.hpp"
#include "scatter_pullup.hpp"

namespace tapeless::detail {

// Does some product have an operand with `count` rows, an extent with that generated name?
constexpr bool has_products_of(const raw_program& p, extent_t count) {
  for (const node& v : p.nodes) {
    if (!is_heavy(v.o)) continue;
    for (const int x : v.in)
      if (x >= 0 && has_name_of(numel(p.nodes[x].s), count)) return true;
  }
  return false;
}
// Masks of one axis that are always applied: conditions known before the forward pass, and arguments that are loss
// weights. A reshape of these to one axis counts. rows: only masks that are rows of a list that masks keep.
inline constexpr int max_masks_before_forward = 8;
constexpr vec<int> masks_before_forward(const node* nodes, int size, const vec<int>& masks,
                                        bool rows = false) {
  vec<int> r;
  const auto add = [&](int m) {
    bool fits = squeezed(nodes[m].s).rank == 1 && r.size() < max_masks_before_forward &&
                (!rows || has_generated_name(numel(nodes[m].s)));
    for (const int k : r) // not another reshape of the same node
      fits = fits &&
             (nodes[k].o != op::reshape || nodes[m].o != op::reshape || nodes[k].in[0] != nodes[m].in[0]);
    if (fits) r.push_back(m);
  };
  for (const int m : masks)
    if (is_condition_before_forward(nodes, m)) add(m);
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

// The program in which loss weights of several axes have one.
constexpr raw_program with_weights_of_rows(raw_program p) {
  vec<shape> groups;
  for (const node& v : p.nodes)
    if (v.o == op::input && v.is_loss_weight && !v.active && squeezed(v.s).rank > 1)
      add_group(groups, squeezed(v.s));
  for (const shape& group : groups) {
    vec<int> weights;
    for (int i = 0; i < p.nodes.size(); ++i)
      if (p.nodes[i].is_loss_weight && squeezed(p.nodes[i].s) == group) weights.push_back(i);
    if (const raw_program collapsed = collapse_axes(p, group).run(weights); !collapsed.broken.found)
      p = collapsed;
  }
  return p;
}

constexpr vec<int> masks_before_forward(const raw_program& p, bool rows = false) {
  const vec<node> nodes = nodes_of(p);
  return masks_before_forward(&nodes[0], nodes.size(), masks_of(&nodes[0], nodes.size()), rows);
}
// The program in which w * l is where(w != 0, w * l, 0) for masks known before the forward pass: zero even if l is
// infinite.
constexpr raw_program zeroed_by_masks(const raw_program& written) {
  const raw_program p = with_weights_of_rows(written);
  const vec<int> masks = masks_before_forward(p);
  if (masks.empty()) return written;
  raw_program zeroed = combine_masks(p, masks).with_zeros();
  if (zeroed.broken.found) return written;
  return zeroed;
}

// A program without the rows where masks are zero.
struct masked_program {
  raw_program program;
  unsigned masks = 0; // bits of masks by which rows of some product are left out
};
constexpr masked_program without_rows(const raw_program& p, const combine_masks::result& combined,
                                      bool covers = false) {
  scatter_pullup pullup(combined.program);
  masked_program r{gather_pushdown(pullup.run(combined.masks, covers)).run()};
  const int first = generated_name_count(p);
  for (int k = 0; k < pullup.lists_of_masks().size() && !r.program.broken.found; ++k) {
    if (!has_products_of(r.program, unwritten_extent(first + k))) continue;
    for (int j = 0; j < combined.sets.size(); ++j)
      if ((pullup.lists_of_masks()[k].list.masks >> j & 1u) != 0) r.masks |= combined.sets[j];
  }
  return r;
}
constexpr masked_program without_rows(const raw_program& p, const vec<int>& masks) {
  if (masks.size() == 1) return without_rows(p, combine_masks::result{p, masks, vec<unsigned>(1, 1u)});
  return without_rows(p, combine_masks(p, masks).run());
}
// The same if losses may have masks of their own: first without the rows that no loss counts. second_pass_of_rows then
// gives each loss its own rows.
constexpr masked_program without_rows_of_all(const raw_program& p, const vec<int>& masks) {
  if (masks.size() == 1) return without_rows(p, masks);
  const combine_masks::result combined = combine_masks(p, masks).run(combine_masks::use::united);
  if (combined.losses < 2) return without_rows(p, combined);
  bool adjoint = false;
  for (const node& v : p.nodes) adjoint = adjoint || v.adjoint;
  if ((combined.blocks && adjoint) || combined.masks.size() > 1) return without_rows(p, masks);
  masked_program r = without_rows(p, combined);
  if (r.masks == 0) return without_rows(p, masks);
  r.program.unfinished = combined.losses;
  return r;
}

// The most that a program may cost, in ns, if its mask is a weight that the program computes. Such a weight is often
// nowhere zero, as a focal one: rows are then copied for nothing. The cost assumes that 3 rows in 4 are kept. With this
// bound a step took at most 3 % longer than the dense one if no row was left out, and at most 9 % if one was.
constexpr double most_with_weights(double dense) { return 0.1 * dense > 20e3 ? 0.9 * dense : dense - 20e3; }

// Other masks are applied if that saves something. At most max_masks are tried, and after the first one only while the
// programs tried so far have at most max_tried_nodes nodes. g++ reached its limit of operations in one constant at about 660.
inline constexpr int max_masks = 4, max_tried_nodes = 400;

// Passes that apply masks: the only one; the first, which may leave the masks of several losses to second_pass_of_rows;
// and the second, which applies masks known before the forward pass and no others.
enum class row_pass { only, first, second };

// Finds the best program without the rows of some masks. In order of importance it
//   applies the most masks known before the forward pass (if `forces`), also if that costs more
//   stores the fewest cotangents with all rows
//   costs the least
template <class Cost> class choose_masks {
  double of_written_;
  bool forces_, zeroed_;
  row_pass pass_;
  costed_program best_;
  int known_ = 0;       // masks known before the forward pass that it applies
  int most_known_ = 0;  // such masks in the program
  int dense_ = 0;       // cotangents that it stores with all rows
  int tried_nodes_ = 0; // of all programs that were tried

  constexpr void offer(const raw_program& r, double cost, int known) {
    const int dense = densified(r);
    if (known < known_ || (known > 0 && known == known_ && dense > dense_)) return;
    if (known > known_ || (known > 0 && dense < dense_)) best_ = {};
    known_ = known;
    dense_ = dense;
    best_.offer(r, cost);
  }
  // Tries the masks of one axis of p, a program with the same results. @return the masks for other axes: those of several
  // axes, and those whose rows may be on other axes
  constexpr vec<int> choose_in(const raw_program& p) {
    const vec<node> all_nodes = nodes_of(p);
    const node* const nodes = &all_nodes[0];
    const vec<int> masks = masks_of(nodes, all_nodes.size());
    vec<int> left, all; // all: those known before the forward pass
    for (const int m : masks)
      if (squeezed(nodes[m].s).rank > 1) left.push_back(m);
    double most = of_written_;
    int known = 0; // of them that leave rows out
    if (forces_) all = masks_before_forward(nodes, all_nodes.size(), masks);
    if (all.size() > most_known_) most_known_ = all.size();
    if (!all.empty()) {
      tried_nodes_ += p.nodes.size();
      masked_program r;
      if (pass_ == row_pass::first) r = without_rows_of_all(p, all);
      else r = without_rows(p, all);
      const bool stays_dense = densified(r.program) > 0;
      for (int k = 0; k < all.size(); ++k) {
        const bool has_rows = (r.masks >> k & 1u) != 0;
        known += has_rows ? 1 : 0;
        if (!has_rows || stays_dense) left.push_back(all[k]);
      }
      if (known > 0 && !r.program.broken.found) {
        most = cost_of_rows<Cost>(r.program);
        offer(r.program, most, known);
      }
      if (r.program.unfinished != no_second_pass) return left;
    }
    if (pass_ == row_pass::second) return left;
    int tried = 0;
    for (const int m : masks) {
      const bool is_weight = is_weight_before_forward(nodes, m);
      if (squeezed(nodes[m].s).rank > 1) continue;
      if ((known > 0 || zeroed_) && (is_weight || is_condition_before_forward(nodes, m))) continue;
      ++tried;
      if (tried > max_masks || (tried > 1 && tried_nodes_ > max_tried_nodes)) break;
      tried_nodes_ += p.nodes.size();
      vec<int> with;
      if (known > 0) with = all;
      with.push_back(m);
      const masked_program r = without_rows(p, with);
      if (r.masks >> (with.size() - 1) == 0 || densified(r.program) > 0) left.push_back(m);
      if (r.program.broken.found) continue;
      const double cost = cost_of_rows<Cost>(r.program);
      const bool by_program = is_weight_of_program(nodes, m) && !is_weight;
      if (cost < (by_program ? most_with_weights(most) : most)) offer(r.program, cost, known);
    }
    return left;
  }

public:
  // zeroed: masks known before the forward pass are not tried one by one
  constexpr choose_masks(const raw_program& written, double of_written, bool forces, row_pass pass,
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
      if (const raw_program collapsed = collapse_axes(written, group).run(masks); !collapsed.broken.found)
        choose_in(collapsed);
    }
  }
  constexpr const costed_program& best() const { return best_; }
  constexpr bool applies_masks() const { return known_ > 0; }
  constexpr bool saves_more_than(const choose_masks& x) const {
    return applies_masks() && (dense_ < x.dense_ || (dense_ == x.dense_ && best_.cost < x.best_.cost));
  }
  constexpr bool applies_all_masks() const { return known_ > 0 && known_ == most_known_; }
};

} // namespace tapeless::detail
