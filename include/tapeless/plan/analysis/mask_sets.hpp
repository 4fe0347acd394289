// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// mask_sets: the rows outside of which a node is zero, as sets of masks of rows. w * (v * l) is zero where w or v is 0:
// one set {w, v}. w * l1 + v * l2 is zero where both are 0: two sets {w} and {v}.
#pragma once
#include "../../ops/read_facts.hpp"
#include "graph_rewriter.hpp"

namespace tapeless::detail {

// The rows along one axis that all masks of at least one set keep. No set is a subset of another. No sets: all rows.
class mask_sets {
public:
  using set = unsigned; // bits of masks
  static constexpr int max_sets = 4;

private:
  set of_[max_sets]{};
  int n_ = 0;

public:
  int axis = no_node;

  constexpr int size() const { return n_; }
  constexpr bool found() const { return n_ > 0; }
  constexpr set operator[](int k) const { return of_[k]; }
  constexpr set masks() const {
    set r = 0;
    for (int k = 0; k < n_; ++k) r |= of_[k];
    return r;
  }
  // Do the sets alone tell that it has every row of o?
  constexpr bool includes(const mask_sets& o) const {
    for (int j = 0; j < o.n_; ++j) {
      bool in_one = false;
      for (int k = 0; k < n_; ++k) in_one = in_one || (of_[k] & ~o.of_[j]) == 0;
      if (!in_one) return false;
    }
    return o.found() && found();
  }
  constexpr bool same(const mask_sets& o) const { return includes(o) && o.includes(*this); }
  // Adds the rows of a set. @return false if there are too many sets
  constexpr bool add(set s) {
    int kept = 0;
    for (int k = 0; k < n_; ++k) {
      if ((of_[k] & ~s) == 0) return true;
      if ((s & ~of_[k]) != 0) of_[kept++] = of_[k];
    }
    n_ = kept;
    if (n_ == max_sets) return false;
    of_[n_++] = s;
    return true;
  }
  // The rows of either. @return all rows if there are too many sets
  constexpr mask_sets united(const mask_sets& o) const {
    if (!found() || !o.found()) return {};
    mask_sets r = *this;
    for (int k = 0; k < o.n_; ++k)
      if (!r.add(o.of_[k])) return {};
    return r;
  }
  // The rows of both. @return this if there are too many sets
  constexpr mask_sets common(const mask_sets& o) const {
    if (!found()) return o;
    if (!o.found()) return *this;
    mask_sets r;
    r.axis = axis;
    for (int j = 0; j < n_; ++j)
      for (int k = 0; k < o.n_; ++k)
        if (!r.add(of_[j] | o.of_[k])) return *this;
    return r;
  }
};

constexpr int first_axis(const shape& s) {
  int a = 0;
  while (a + 1 < s.rank && s.d[a] == 1) ++a;
  return a;
}

// The mask sets of all nodes of a program.
class mask_sets_of : graph_rewriter {
  const vec<int>& masks_;
  vec<mask_sets> of_;

  // The axis of v that has the rows of operand k, the same for all masks of that; or no_node.
  constexpr int axis_of_operand(const node& v, const shape (&s)[3], int k) const {
    const mask_sets& x = of_[v.in[k]];
    int axis = no_node;
    for (int m = 0; m < masks_.size(); ++m) {
      if ((x.masks() >> m & 1u) == 0) continue;
      const extent_t n = numel(at(masks_[m]).s);
      const row_axis to = where_rows_go(v, s, k, {x.axis, block_of(s[k].d[x.axis], n)}, n);
      if (!to.found() || (axis >= 0 && axis != to.axis)) return no_node;
      axis = to.axis;
    }
    return axis;
  }
  constexpr mask_sets made(int i) const {
    const node& v = at(i);
    for (int m = 0; m < masks_.size(); ++m)
      if (is_reshape_of(i, masks_[m])) {
        mask_sets r;
        r.add(1u << m);
        r.axis = first_axis(v.s);
        return r;
      }
    const operand_shapes s(p_, v);
    int axis = no_node;
    unsigned along = 0; // operands with rows along that axis; others are ignored
    for (int k = 0; k < 3; ++k) {
      if (v.in[k] < 0 || !of_[v.in[k]].found()) continue;
      const int to = axis_of_operand(v, s, k);
      if (axis < 0) axis = to;
      if (to >= 0 && to == axis) along |= 1u << k;
    }
    mask_sets r;
    unsigned zeros[7]; // minimal sets of operands: it is zero where all of a set are
    int n = 0;
    for (const unsigned some : {1u, 2u, 4u, 3u, 5u, 6u, 7u}) {
      bool known = (some & ~along) != 0;
      for (int j = 0; j < n; ++j) known = known || (zeros[j] & ~some) == 0;
      const bool zero[3] = {(some & 1u) != 0, (some & 2u) != 0, (some & 4u) != 0};
      if (known || !zero_outside(v, zero, [&](int k) { return is_zero(p_.nodes, v.in[k]); })) continue;
      zeros[n++] = some;
      mask_sets either;
      bool first = true;
      for (int k = 0; k < 3; ++k)
        if (zero[k]) {
          either = first ? of_[v.in[k]] : either.united(of_[v.in[k]]);
          first = false;
        }
      r = r.common(either);
    }
    r.axis = axis;
    return r;
  }

public:
  /// @pre each mask has one axis other than 1
  constexpr mask_sets_of(const raw_program& p, const vec<int>& masks)
      : graph_rewriter(p), masks_(masks), of_(p.nodes.size(), mask_sets{}) {
    for (int i = 0; i < p.nodes.size(); ++i) of_[i] = made(i);
  }
  // The sets of node i, if they are along its first axis.
  constexpr mask_sets of(int i) const {
    return of_[i].found() && of_[i].axis == first_axis(at(i).s) ? of_[i] : mask_sets{};
  }
};

} // namespace tapeless::detail
