// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// row_forms: the nodes of a program in the normal form
//   value = base + scatter(rows, list, axis) + ..
// with at most two terms. all(i) makes the whole tensor if an op needs it. A mask is a value of this form, too: it is
// zero outside the list of its nonzero rows. scatter_pullup.hpp has the rules.
#pragma once
#include "../analysis/graph_rewriter.hpp" // IWYU pragma: export

namespace tapeless::detail {

class row_forms : protected graph_rewriter {
protected:
  // Rows of a list among zeros. Nodes are those of the new graph.
  struct term {
    int rows = no_node;
    row_list list;
    row_axis axis;
    constexpr bool has_list_of(const term& o) const { return list.id == o.list.id && axis.equals(o.axis); }
  };
  struct form {
    int all = no_node;  // the whole tensor; none: not made yet
    int base = no_node; // what the terms are added to; none: zeros
    const term* of[2] = {nullptr, nullptr};
    constexpr bool found() const { return all >= 0 || of[0] != nullptr; }
    constexpr bool is_sum() const { return base >= 0 || of[1] != nullptr; }
  };
  vec<form> made_;
  block_list<term> terms_;
  int max_terms_;
  const int first_count_ = generated_name_count(p_);
  block_list<term> of_masks_; // lists without rows: the k-th has unwritten_extent(first_count_ + k)

  constexpr form rows_of(const term& t) {
    terms_.push_back(t);
    return {no_node, no_node, {&terms_[terms_.size() - 1], nullptr}};
  }
  // x as an operand with one term: a sum of several is whole.
  constexpr form operand(int x) const {
    if (x < 0) return {};
    return made_[x].is_sum() ? form{made_[x].all} : made_[x];
  }
  // The whole of node i.
  constexpr int all(int i) {
    if (made_[i].all >= 0) return made_[i].all;
    const bool in_adjoint = g_.in_adjoint; // of the node that asks
    g_.in_adjoint = at(i).adjoint;
    made_[i].all = made_dense(i);
    g_.in_adjoint = in_adjoint;
    return made_[i].all;
  }
  constexpr int made_dense(int i) {
    const form& f = made_[i];
    const node& v = at(i);
    // It is computed from whole operands if all are made. A product is not: outside the rows a factor may be infinite or
    // NaN. Nor is where(mask, x, 0): it may need rows of x only.
    bool cheap = !f.is_sum() && ((rule(v.o).k == kind::elementwise && !has_factor(v) &&
                                  !(v.o == op::where && operand(v.in[0]).of[0] != nullptr)) ||
                                 rule(v.o).k == kind::view);
    int in[3] = {no_node, no_node, no_node};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) {
        in[k] = made_[v.in[k]].all;
        cheap = cheap && in[k] >= 0;
      }
    if (cheap) return renewed(v, in, v.s);
    int r = f.base;
    for (const term* t : f.of)
      if (t != nullptr) r = scattered(t->rows, t->list, t->axis, v.s, r);
    return r;
  }
  constexpr bool is_known_zero(const form& x) const { return x.all >= 0 && is_zero(g_, x.all); }
  // Is v linear in these operands, the others held fixed or known to be zero?
  constexpr bool is_linear_in(const node& v, const bool (&in)[3], const form (&x)[3]) const {
    const unsigned set = linear_with(v, bits_of(in));
    bool r = set != 0;
    for (int k = 0; k < 3; ++k) r = r && ((set >> k & 1u) == 0 || in[k] || is_known_zero(x[k]));
    return r;
  }
  // The rows of a term of x, and zeros, in the order of a longer list that holds them.
  constexpr int among(const row_list& list, const term& t, int x) {
    if (t.list.id == list.id) return t.rows;
    const int place = scatter_add(g_, iota(g_, shape{1, {list.count}}), list.id, 0, shape{1, {list.n}});
    const row_list in_list{gather(g_, place, t.list.id, 0), list.count, t.list.count};
    return scattered(t.rows, in_list, t.axis, with_rows(at(x).s, t.axis, list.count));
  }
  // The list of the rows where a vector is not zero; it is made of these masks.
  constexpr row_list list_of(int vector, unsigned masks) {
    for (int k = 0; k < of_masks_.size(); ++k)
      if (of_masks_[k].list.mask == vector) return of_masks_[k].list;
    const extent_t n = g_[vector].s.d[0], count = unwritten_extent(first_count_ + of_masks_.size());
    const row_list r{select(g_, vector, no_node, {}, count), n, count, true, vector, masks};
    of_masks_.push_back({no_node, r, {}});
    return r;
  }
  // Adds the list of its nonzero rows to the form of a mask.
  constexpr void list_mask(int i, unsigned mask) {
    const shape s = at(i).s;
    term r{no_node, list_of(reshape(g_, all(i), shape{1, {numel(s)}}), mask), {}};
    for (int a = 0; a < s.rank; ++a)
      if (s.d[a] != 1) r.axis = {a, 1};
    r.rows = at(i).t == dtype::boolean
                 ? expand(g_, g_.constant(1, dtype::boolean), with_rows(s, r.axis, r.list.count))
                 : gathered(made_[i].all, r.list, r.axis);
    made_[i].of[0] = rows_of(r).of[0];
  }
  // The list of the rows that one of two masks keeps, or both.
  constexpr row_list together(const row_list& a, const row_list& b) {
    if (a.holds(b)) return a;
    if (b.holds(a)) return b;
    return list_of(binary(g_, op::logical_or, nonzero(a.mask), nonzero(b.mask)), a.masks | b.masks);
  }
  constexpr row_forms(const raw_program& p, int max_terms)
      : graph_rewriter(p), made_(p.nodes.size(), form{}), max_terms_(max_terms) {}
};

} // namespace tapeless::detail
