// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Several masks of one loss as one: in w * (v * l) a row is zero where w is, or v. What is zero outside the rows that all
// masks of a set keep, though none of its operands is, becomes where(w != 0 && v != 0, w * (v * l), 0), whose condition is
// the mask.
#pragma once
#include "sparse_rows.hpp"

namespace tapeless::detail {

class mask_joining : row_rewriter {
public:
  using set = unsigned; // of the masks
  struct result {
    raw_program program; // with nodes that nobody reads
    int mask;            // in it, or no_node
  };

private:
  const vec<int>& masks_;
  vec<row_axis> axis_; // (node, mask): its rows along it are zero where the mask is
  vec<set> zero_;      // of each node: where one of these is
  extent_t n_ = 0;
  vec<int> made_;

  constexpr bool is_zero(int x) const {
    while (at(x).o == op::expand) x = at(x).in[0];
    return at(x).o == op::konst && at(x).attr == 0;
  }
  constexpr row_axis& axis(int i, int mask) { return axis_[i * masks_.size() + mask]; }
  // Is it the axis of the masks of node i before it? Others of that extent are not joined with them.
  constexpr bool lies_along(int i, int mask) {
    for (int k = 0; k < mask; ++k)
      if ((zero_[i] >> k & 1u) != 0) return axis(i, k).equals(axis(i, mask));
    return true;
  }
  // Along one axis: where an operand has it along another, too, that is not looked at.
  constexpr row_axis rows_of(int i, int mask) {
    const node& v = at(i);
    if (i == masks_[mask])
      for (int a = 0; a < v.s.rank; ++a)
        if (v.s.d[a] == n_) return {a, 1};
    shape s[3]{};
    shapes_of(v, s);
    for (int k = 0; k < 3; ++k) {
      if (v.in[k] < 0 || !axis(v.in[k], mask).found()) continue;
      const row_axis to = where_rows_go(v, s, k, axis(v.in[k], mask), n_);
      if (!to.found() || to.block != 1) continue;
      const rows_of_operands r = where_rows_come_from(v, s, to, n_);
      bool zero[3] = {false, false, false};
      for (int j = 0; j < 3; ++j)
        zero[j] = v.in[j] >= 0 && r.operand[j].found() && axis(v.in[j], mask).equals(r.operand[j]);
      if (zero_outside(v, zero, [&](int j) { return is_zero(v.in[j]); })) return to;
    }
    return {};
  }
  // All of the set, as one condition.   @pre they are made
  constexpr int condition(set masks) {
    int all = no_node;
    for (int k = 0; k < masks_.size(); ++k) {
      if ((masks >> k & 1u) == 0) continue;
      const int m = reshape(g_, made_[masks_[k]], shape{1, {n_}});
      const int kept = g_[m].t == dtype::boolean ? m : binary(g_, op::ne, m, zeros(g_, g_[m].t, g_[m].s));
      all = all < 0 ? kept : binary(g_, op::logical_and, all, kept);
    }
    return all;
  }

public:
  /// @pre each mask has one axis other than 1, all of one extent
  constexpr mask_joining(const raw_program& p, const vec<int>& masks)
      : row_rewriter(p),
        masks_(masks),
        axis_(p.nodes.size() * masks.size(), row_axis{}),
        zero_(p.nodes.size(), 0u),
        made_(p.nodes.size(), no_node) {
    n_ = numel(at(masks[0]).s);
    for (int i = 0; i < p.nodes.size(); ++i) {
      set some = 0;
      for (const int x : at(i).in)
        if (x >= 0) some |= zero_[x];
      for (int k = 0; k < masks.size(); ++k)
        if ((some >> k & 1u) != 0 || i == masks[k]) {
          axis(i, k) = rows_of(i, k);
          if (axis(i, k).found() && lies_along(i, k)) zero_[i] |= 1u << k;
        }
    }
  }
  /// Those of the most masks that some node is zero outside of together; 0 where that is one.
  constexpr set largest() const {
    set r = 0;
    int most = 1;
    for (const set z : zero_) {
      int n = 0;
      for (set rest = z; rest != 0; rest &= rest - 1) ++n;
      if (n <= most) continue;
      r = z;
      most = n;
    }
    return r;
  }
  constexpr result run(set masks) {
    const auto has_all = [&](int x) { return x >= 0 && (zero_[x] & masks) == masks; };
    result r{{}, no_node};
    for (int i = 0; i < p_.nodes.size(); ++i) {
      const node& v = at(i);
      g_.in_adjoint = v.adjoint;
      int in[3] = {no_node, no_node, no_node};
      for (int k = 0; k < 3; ++k)
        if (v.in[k] >= 0) in[k] = made_[v.in[k]];
      made_[i] = rule(v.o).k == kind::leaf ? leaf(v) : again(v, in, v.s);
      if (!has_all(i) || has_all(v.in[0]) || has_all(v.in[1]) || has_all(v.in[2])) continue;
      if (r.mask < 0) r.mask = condition(masks);
      int k = 0;
      while ((masks >> k & 1u) == 0) ++k;
      shape along = v.s;
      for (int a = 0; a < along.rank; ++a)
        if (a != axis(i, k).axis) along.d[a] = 1;
      const int kept = expand(g_, reshape(g_, r.mask, along), v.s);
      made_[i] = where(g_, kept, made_[i], zeros(g_, v.t, v.s));
    }
    for (const int o : p_.outputs) r.program.outputs.push_back(made_[o]);
    r.program.nodes = g_.nodes;
    r.program.broken = g_.broken;
    return r;
  }
};

} // namespace tapeless::detail
