// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// combine_masks: one mask for each loss. A row of w * (v * l) is zero where w or v is. So is a row of v * l in
// w * (k + v * l). If a value that is zero outside the rows of some masks is read by one that is not, it becomes
//   where(w != 0 && v != 0, w * (v * l), 0)
// The condition is the combined mask. Losses with other masks have another condition.
#pragma once
#include "../analysis/graph_rewriter.hpp"
#include "../analysis/mask_sets.hpp"

namespace tapeless::detail {

inline constexpr int max_conditions = 4; // so many become lists of rows; others only make zeros

class combine_masks : graph_rewriter {
public:
  struct result {
    raw_program program; // with dead nodes
    vec<int> masks;      // the combined masks in it
    vec<unsigned> sets;  // bits of the masks that each is made of
    int losses = 0;      // the number of losses with masks of their own
    bool blocks = false; // a combined mask has more rows than a mask that it is made of
  };

  // each: a mask for each loss. united: all losses get the rows that at least one counts. zeros: no rows are left out;
  // each masked product becomes where(.., 0).
  enum class use { each, united, zeros };

private:
  struct condition {
    mask_sets of;
    extent_t rows = 0;
    unsigned masks = 0; // bits of the masks of all losses that it is for
    int id = no_node;
  };
  const vec<int>& masks_;
  vec<mask_sets> zero_;    // each node is zero outside of these rows
  vec<char> network_;      // it is computed from a product
  vec<char> zeros_matter_; // it is zero in a row in which one of its readers is not
  vec<int> made_, zeroed_;
  vec<int> vector_; // each mask in the new graph, or not made yet
  vec<condition> conditions_;
  use how_ = use::each;

  constexpr extent_t rows(int mask) const { return numel(at(masks_[mask]).s); }
  constexpr extent_t rows_of(int i) const { return at(i).s.d[zero_[i].axis]; }

  // Is it a loss, or computed from one?
  constexpr bool is_of_losses(int i) const { return network_[i] != 0 && at(i).t != dtype::boolean; }
  // Has operand x zeros in rows where node i has none? If x is computed from weights alone, it is finite: then this
  // matters only if i has zeros, too.
  constexpr bool zeros_end(int i, int x) const {
    return zero_[x].found() && !zero_[x].includes(zero_[i]) && (network_[x] != 0 || zero_[i].found());
  }
  constexpr bool reads_zeros(int i, int x) const {
    if (!is_of_losses(i) || at(x).t == dtype::boolean) return false;
    const bool all_terms =
        at(i).o == op::add || at(i).o == op::sub || at(i).o == op::where; // all terms become zero
    return zeros_end(i, x) || ((is_of_losses(x) || all_terms) && zero_[x].same(zero_[i]));
  }
  // Must node i be made zero outside its rows? It need not if an operand brings the zeros.
  constexpr bool zeros_begin(int i) const {
    if (zeros_matter_[i] == 0) return false;
    for (const int x : at(i).in)
      if (x >= 0 && reads_zeros(i, x)) return false;
    return true;
  }
  constexpr bool becomes_zero(int i) const {
    return zeros_begin(i) || (how_ == use::zeros && zeros_matter_[i] != 0 && has_factor(at(i)));
  }
  // These rows, or more of them: as far as masks tell that are known when node i is made.
  constexpr mask_sets kept_by_masks_ahead(int i, const mask_sets& rows) const {
    unsigned ahead = 0;
    for (int k = 0; k < masks_.size(); ++k)
      if (network_[masks_[k]] == 0 || masks_[k] < i) ahead |= 1u << k;
    mask_sets r;
    r.axis = rows.axis;
    for (int k = 0; k < rows.size(); ++k)
      if ((rows[k] & ahead) == 0 || !r.add(rows[k] & ahead)) return {};
    return r;
  }
  // Is each row of node i computed from the same row of operand k, for the rows of all these masks?
  constexpr bool has_rows_of(int i, const shape (&of)[3], int k, const mask_sets& kept) const {
    for (int m = 0; m < masks_.size(); ++m) {
      if ((kept.masks() >> m & 1u) == 0) continue;
      const int axis = first_axis(of[k]);
      const extent_t block = of[k].rank > 0 ? block_of(of[k].d[axis], rows(m)) : 0;
      if (block == 0) return false;
      const row_axis to = where_rows_go(at(i), of, k, {axis, block}, rows(m));
      if (!to.found() || to.axis != first_axis(at(i).s)) return false;
    }
    return kept.found();
  }
  // If a node is zero outside of rows A, and its readers are zero outside of rows B, it may be zero outside of the rows
  // in both, as m * l in w * (k + m * l).
  constexpr void leave_unread_rows() {
    vec<mask_sets> read(size(), mask_sets{}); // rows of each node that are read; no sets: all
    vec<char> known(size(), 0);               // some node reads it
    for (const int o : p_.outputs) known[o] = 1;
    for (int i = size() - 1; i >= 0; --i) {
      mask_sets kept = zero_[i];
      if (known[i] != 0) kept = kept.common(kept_by_masks_ahead(i, read[i]));
      if (zero_[i].found()) zero_[i] = kept;
      const operand_shapes of(p_, at(i));
      for (int k = 0; k < 3; ++k) {
        const int x = at(i).in[k];
        if (x < 0) continue;
        mask_sets here;
        if (has_rows_of(i, of, k, kept)) here = kept;
        here.axis = first_axis(of[k]);
        if (known[x] != 0) read[x] = read[x].united(here);
        else read[x] = here;
        known[x] = 1;
      }
    }
  }
  constexpr void find_zeros() {
    const mask_sets_of known(p_, masks_);
    for (int i = 0; i < size(); ++i) {
      zero_[i] = known.of(i);
      network_[i] = is_heavy(at(i).o);
      for (const int x : at(i).in)
        if (x >= 0 && network_[x] != 0) network_[i] = 1;
    }
    leave_unread_rows();
    for (const int o : p_.outputs) zeros_matter_[o] = is_of_losses(o) && zero_[o].found();
    for (int i = size() - 1; i >= 0; --i)
      for (const int x : at(i).in)
        if (x >= 0 && reads_zeros(i, x) && (zeros_end(i, x) || zeros_matter_[i] != 0)) zeros_matter_[x] = 1;
  }
  // The condition of the rows of n that these masks keep. @pre the masks are made
  constexpr int condition_of(const mask_sets& kept, extent_t n) {
    int any = no_node;
    for (int j = 0; j < kept.size(); ++j) {
      int all = no_node;
      for (int k = 0; k < masks_.size(); ++k) {
        if ((kept[j] >> k & 1u) == 0) continue;
        int m = vector_[k];
        if (const extent_t block = block_of(n, rows(k)); block != 1)
          m = reshape(g_, expand(g_, reshape(g_, m, shape{2, {rows(k), 1}}), shape{2, {rows(k), block}}),
                      shape{1, {n}});
        all = all < 0 ? nonzero(m) : binary(g_, op::logical_and, all, nonzero(m));
      }
      any = any < 0 ? all : binary(g_, op::logical_or, any, all);
    }
    return any;
  }
  constexpr void find_conditions() {
    for (int i = 0; i < size(); ++i) {
      if (!becomes_zero(i)) continue;
      bool known = false;
      for (const condition& c : conditions_) known = known || (c.of.same(zero_[i]) && c.rows == rows_of(i));
      if (!known) conditions_.push_back({zero_[i], rows_of(i), zero_[i].masks()});
    }
  }
  // One condition for each number of rows: the rows that one of the conditions keeps.
  constexpr void unite_conditions() {
    vec<condition> all;
    for (const condition& c : conditions_) {
      bool known = false;
      for (condition& a : all)
        if (a.rows == c.rows) {
          const mask_sets either = a.of.united(c.of);
          known = true;
          if (!either.found()) continue;
          a.of = either;
          a.masks |= c.masks;
        }
      if (!known) all.push_back(c);
    }
    conditions_ = all;
  }
  constexpr int zeroed(int i) {
    const node& v = at(i);
    int c = no_node;
    for (condition& known : conditions_)
      if (known.rows == rows_of(i) &&
          (how_ == use::united ? known.of.includes(zero_[i]) : known.of.same(zero_[i])))
        c = known.id = known.id < 0 ? condition_of(known.of, known.rows) : known.id;
    if (c < 0) return no_node;
    shape along = v.s;
    for (int a = 0; a < along.rank; ++a)
      if (a != zero_[i].axis) along.d[a] = 1;
    return where(g_, expand(g_, reshape(g_, c, along), v.s), made_[i], zeros(g_, v.t, v.s));
  }
  constexpr void make(int i) {
    const node& v = at(i);
    g_.in_adjoint = v.adjoint;
    int in[3] = {no_node, no_node, no_node};
    for (int k = 0; k < 3; ++k)
      if (const int x = v.in[k]; x >= 0) in[k] = zeroed_[x] >= 0 && reads_zeros(i, x) ? zeroed_[x] : made_[x];
    made_[i] = rule(v.o).k == kind::leaf ? leaf(v) : again(v, in, v.s);
    for (int k = 0; k < masks_.size(); ++k)
      if (vector_[k] < 0 && is_reshape_of(i, masks_[k]))
        vector_[k] = reshape(g_, made_[i], shape{1, {rows(k)}});
  }
  // Masks known before the forward pass, and what they are computed from.
  constexpr vec<char> of_masks_before_forward() const {
    vec<char> r(size(), 0);
    for (const int m : masks_) r[m] = network_[m] == 0;
    for (int i = size() - 1; i >= 0; --i)
      for (const int x : at(i).in)
        if (x >= 0 && r[i] != 0) r[x] = 1;
    return r;
  }

public:
  /// @pre each mask has one axis other than 1
  constexpr combine_masks(const raw_program& p, const vec<int>& masks)
      : graph_rewriter(p),
        masks_(masks),
        zero_(p.nodes.size(), mask_sets{}),
        network_(p.nodes.size(), 0),
        zeros_matter_(p.nodes.size(), 0),
        made_(p.nodes.size(), no_node),
        zeroed_(p.nodes.size(), no_node),
        vector_(masks.size(), no_node) {}

  constexpr result run(use how = use::each) {
    how_ = how;
    find_zeros();
    find_conditions();
    result r;
    r.losses = conditions_.size();
    if (how_ == use::united) unite_conditions();
    const vec<char> first = of_masks_before_forward();
    for (int i = 0; i < size(); ++i)
      if (first[i] != 0) make(i);
    for (int i = 0; i < size(); ++i) {
      if (first[i] == 0) make(i);
      if (becomes_zero(i)) zeroed_[i] = zeroed(i);
    }
    for (const int o : p_.outputs) r.program.outputs.push_back(zeroed_[o] >= 0 ? zeroed_[o] : made_[o]);
    for (const condition& c : conditions_)
      if (c.id >= 0 && r.masks.size() < max_conditions) {
        r.masks.push_back(c.id);
        r.sets.push_back(c.masks);
        for (int k = 0; k < masks_.size(); ++k)
          r.blocks = r.blocks || ((c.masks >> k & 1u) != 0 && rows(k) != c.rows);
      }
    r.program.nodes = g_.nodes;
    r.program.broken = g_.broken;
    return r;
  }
  // The program of all rows, with zeros where masks are.
  constexpr raw_program with_zeros() {
    const vec<int> outputs = run(use::zeros).program.outputs;
    return finished(outputs);
  }
};

} // namespace tapeless::detail
