// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// row_forms: the nodes of a program as rows of a list that are added to zeros, or to a base:
//   value = base + scatter(rows, list, axis)
// A value may have two such terms with different lists. all(i) makes the whole tensor if an op needs it. A mask
// is a value of this form, too: it is zero outside the list of its nonzero rows. scatter_pullup.hpp has the rules.
#pragma once
#include "../analysis/graph_rewriter.hpp" // IWYU pragma: export

namespace tapeless::detail {

class row_forms : protected graph_rewriter {
protected:
  struct form {         // nodes of the new graph
    int all = no_node;  // the whole tensor; none: not made yet
    int rows = no_node; // its rows in the list; none: it has no such form
    row_list list;
    row_axis axis;
    int base = no_node; // what the rows are added to; none: zeros
  };
  vec<form> made_;
  // If splits_: 2 i and 2 i + 1 are the two terms of node i, cotangents with different lists. If the second has no rows, i
  // is no such sum.
  vec<form> parts_;
  bool splits_;
  const int first_count_ = generated_name_count(p_);
  vec<row_list> of_masks_; // the k-th has unwritten_extent(first_count_ + k) rows

  constexpr bool is_split(int x) const { return x >= 0 && splits_ && parts_[2 * x + 1].rows >= 0; }
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
    if (is_split(i)) {
      const form &a = parts_[2 * i], &b = parts_[2 * i + 1];
      const int first = scattered(a.rows, a.list, a.axis, v.s);
      return binary(g_, op::add, first, scattered(b.rows, b.list, b.axis, v.s));
    }
    if (f.base >= 0) return scattered(f.rows, f.list, f.axis, v.s, f.base);
    // It is computed from whole operands if all are made. A product is not: it may be infinite or NaN outside the rows.
    // Nor is where(mask, x, 0): it may need rows of x only.
    bool cheap = (rule(v.o).k == kind::elementwise && v.o != op::mul && v.o != op::div &&
                  !(v.o == op::where && has_rows(v.in[0]))) ||
                 rule(v.o).k == kind::view;
    int in[3] = {no_node, no_node, no_node};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) {
        in[k] = made_[v.in[k]].all;
        cheap = cheap && in[k] >= 0;
      }
    return cheap ? renewed(v, in, v.s) : scattered(f.rows, f.list, f.axis, v.s);
  }
  constexpr bool has_base(int x) const { return x >= 0 && made_[x].base >= 0; }
  constexpr bool has_rows(int x) const { return x >= 0 && made_[x].rows >= 0 && made_[x].base < 0; }
  constexpr bool is_known_zero(int x) const { return made_[x].all >= 0 && is_zero(g_, made_[x].all); }
  // Is v linear in these operands, the others held fixed or known to be zero?
  constexpr bool is_linear_in(const node& v, const bool (&in)[3]) const {
    bool with_zeros[3] = {in[0], in[1], in[2]};
    for (int k = 0; k < 3; ++k) with_zeros[k] = in[k] || (v.in[k] >= 0 && is_known_zero(v.in[k]));
    return is_linear(v, in) || is_linear(v, with_zeros);
  }

  // The rows of x, and zeros, in the order of a longer list that holds them.
  constexpr int among(const row_list& list, int x) {
    const form& f = made_[x];
    if (f.list.id == list.id) return f.rows;
    const int place = scatter_add(g_, iota(g_, shape{1, {list.count}}), list.id, 0, shape{1, {list.n}});
    const row_list in_list{gather(g_, place, f.list.id, 0), list.count, f.list.count};
    return scattered(f.rows, in_list, f.axis, with_rows(at(x).s, f.axis, list.count));
  }
  // The term of x with the list and axis of term `part` of node `first`; a form without rows if there is none.
  constexpr form part_of(int x, int first, int part) const {
    const form& like = parts_[2 * first + part];
    for (int p = 0; p < 2; ++p)
      if (const form& f = parts_[2 * x + p]; f.list.id == like.list.id && f.axis.equals(like.axis)) return f;
    return {};
  }
  // The list of the rows where a vector is not zero; it is made of these masks.
  constexpr row_list list_of(int vector, unsigned masks) {
    for (const row_list& l : of_masks_)
      if (l.mask == vector) return l;
    const extent_t n = g_[vector].s.d[0], count = unwritten_extent(first_count_ + of_masks_.size());
    of_masks_.push_back({select(g_, vector, no_node, {}, count), n, count, true, vector, masks});
    return of_masks_.back();
  }
  // Adds the list of its nonzero rows to the form of a mask.
  constexpr void list_mask(int i, unsigned mask) {
    const shape s = at(i).s;
    form& f = made_[i];
    f.list = list_of(reshape(g_, all(i), shape{1, {numel(s)}}), mask);
    for (int a = 0; a < s.rank; ++a)
      if (s.d[a] != 1) f.axis = {a, 1};
    f.rows = at(i).t == dtype::boolean
                 ? expand(g_, g_.constant(1, dtype::boolean), with_rows(s, f.axis, f.list.count))
                 : gathered(f.all, f.list, f.axis);
  }
  // The list of the rows that one of two masks keeps, or both.
  constexpr row_list together(const row_list& a, const row_list& b) {
    if (a.holds(b)) return a;
    if (b.holds(a)) return b;
    return list_of(binary(g_, op::logical_or, nonzero(a.mask), nonzero(b.mask)), a.masks | b.masks);
  }
  constexpr row_forms(const raw_program& p, bool splits)
      : graph_rewriter(p),
        made_(p.nodes.size(), form{}),
        parts_(splits ? 2 * p.nodes.size() : 0, form{}),
        splits_(splits) {}
};

} // namespace tapeless::detail
