// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The cotangent of gather(x, S) is scatter(d, S), zero outside S. The scatter is moved outward, past the ops of the adjoint,
// until it meets a sum over rows, where it vanishes:
//     f'(X) * scatter(d, S) = scatter(f'(X[S]) * d, S)       X^T scatter(d, S) = X[S]^T d
// A mask is moved in the same way: it is zero outside the list of its rows that are not.
#pragma once
#include "../analysis/graph_rewriter.hpp"

namespace tapeless::detail {

class scatter_pullup : row_rewriter {
  struct form { // of a node: all of it, the rows of a list outside of which it is zero, or both
    int all = no_node, rows = no_node;
    row_list list;
    row_axis axis;
    int base = no_node; // all rows of it, which the rows of the list are added to
  };
  vec<form> made_;
  // Of a sum of two cotangents with different lists, the two, at 2 i and 2 i + 1: where splits_, and the second has rows.
  vec<form> parts_;
  bool splits_, lists_meet_ = false;
  unsigned covering_ = 0; // bits of masks that together keep each row, or 0
  const int first_count_ = unwritten_counts(p_);
  vec<row_list> of_masks_; // the k-th has unwritten_extent(first_count_ + k) rows

  constexpr bool is_split(int x) const { return x >= 0 && splits_ && parts_[2 * x + 1].rows >= 0; }
  constexpr int all(int i) {
    if (made_[i].all >= 0) return made_[i].all;
    const bool in_adjoint = g_.in_adjoint; // of who asks
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
    // a product with what may be infinite or NaN in the rows left out would not be zero there; of where(mask, x, 0) not
    // all rows of x need be known
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
  // Is v linear in these operands, where others are known to be zero or held?
  constexpr bool is_linear_in(const node& v, const bool (&in)[3]) const {
    bool with_zeros[3] = {in[0], in[1], in[2]};
    for (int k = 0; k < 3; ++k) with_zeros[k] = in[k] || (v.in[k] >= 0 && is_known_zero(v.in[k]));
    return is_linear(v, in) || is_linear(v, with_zeros);
  }

  // The result as rows of a list that holds those of operand k.
  constexpr bool as_rows_of(const row_list& list, int i, int k, const shape (&s)[3]) {
    const node& v = at(i);
    const row_axis to = where_rows_go(v, s, k, made_[v.in[k]].axis, list.n);
    if (!to.found()) return false;
    const rows_of_operands r = where_rows_come_from(v, s, to, list.n);
    bool zero[3] = {false, false, false};
    for (int j = 0; j < 3; ++j)
      if (has_rows(v.in[j])) {
        const form& f = made_[v.in[j]];
        zero[j] = list.holds(f.list) && f.axis.equals(r.operand[j]);
      }
    if (!zero_outside(v, zero, [&](int j) { return is_known_zero(v.in[j]); })) return false;
    if (!list.distinct && !is_linear_in(v, zero)) return false;
    int in[3] = {no_node, no_node, no_node};
    for (int j = 0; j < 3; ++j)
      if (v.in[j] >= 0) in[j] = zero[j] ? among(list, v.in[j]) : gathered(all(v.in[j]), list, r.operand[j]);
    made_[i].rows = remade(v, in, with_rows(v.s, to, list.count));
    made_[i].list = list;
    made_[i].axis = to;
    return true;
  }
  // Rows of x, and zeros, as those of a list that holds them.
  constexpr int among(const row_list& list, int x) {
    const form& f = made_[x];
    if (f.list.id == list.id) return f.rows;
    const int place = scatter_add(g_, iota(g_, shape{1, {list.count}}), list.id, 0, shape{1, {list.n}});
    const row_list in_list{gather(g_, place, f.list.id, 0), list.count, f.list.count};
    return scattered(f.rows, in_list, f.axis, with_rows(at(x).s, f.axis, list.count));
  }
  constexpr bool as_rows(int i, int k, const shape (&s)[3]) {
    return as_rows_of(row_list{made_[at(i).in[k]].list}, i, k, s);
  }
  // The result where the rows of operand k are summed over, or taken by their own list.
  constexpr bool as_sum(int i, int k, const shape (&s)[3]) {
    const node& v = at(i);
    const form from = made_[v.in[k]];
    int in[3] = {no_node, no_node, no_node};
    if (v.o == op::gather && k == 0 && from.list.distinct && static_cast<int>(v.attr) == from.axis.axis &&
        from.axis.block == 1 && made_[v.in[1]].all == from.list.id) {
      made_[i].all = from.rows;
      return true;
    }
    const int axis_of_index = from.axis.axis - static_cast<int>(v.attr);
    if (v.o == op::scatter_add && k == 0 && v.in[2] < 0 && axis_of_index >= 0 &&
        axis_of_index < s[1].rank) { // of a table's gradient
      in[0] = from.rows;
      in[1] = gathered(all(v.in[1]), from.list, {axis_of_index, from.axis.block});
      made_[i].all = remade(v, in, v.s);
      return true;
    }
    const row_sum q = where_rows_are_summed(v, s, k, from.axis);
    if (!q.found) return false;
    in[k] = from.rows;
    if (q.other >= 0) {
      const int x = v.in[q.other];
      const bool same = from.list.distinct && has_rows(x) && made_[x].list.id == from.list.id &&
                        made_[x].axis.equals(q.axis);
      in[q.other] = same ? made_[x].rows : gathered(all(x), from.list, q.axis);
    }
    made_[i].all = remade(v, in, v.s);
    return true;
  }
  // a + b or a - b where both are rows, of two lists in all
  constexpr bool as_two_lists(int i) {
    const node& v = at(i);
    if (v.o != op::add && v.o != op::sub) return false;
    form two[2];
    int lists = 0;
    for (int k = 0; k < 2; ++k) {
      const int x = v.in[k];
      if (!(at(x).s == v.s) || (!is_split(x) && !has_rows(x))) return false;
      for (int part = 0; part < (is_split(x) ? 2 : 1); ++part) {
        const form f = is_split(x) ? parts_[2 * x + part] : made_[x];
        int known = 0;
        while (known < lists && !(two[known].list.id == f.list.id && two[known].axis.equals(f.axis))) ++known;
        if (known == 2) return false;
        if (known < lists) two[known].rows = binary(g_, v.o, two[known].rows, f.rows);
        else {
          two[lists] = f;
          two[lists].all = no_node;
          if (k == 1 && v.o == op::sub) two[lists].rows = unary(g_, op::neg, f.rows, v.t);
          ++lists;
        }
      }
    }
    if (lists != 2) return false;
    lists_meet_ = true;
    if (!splits_) return false;
    for (int part = 0; part < 2; ++part) parts_[2 * i + part] = two[part];
    return true;
  }
  // Of the parts of x the one with the list and axis of a part of operand `first`; no form where it has others.
  constexpr form part_of(int x, int first, int part) const {
    const form& like = parts_[2 * first + part];
    for (int p = 0; p < 2; ++p)
      if (const form& f = parts_[2 * x + p]; f.list.id == like.list.id && f.axis.equals(like.axis)) return f;
    return {};
  }
  // f(a + b) = f(a) + f(b), where f is linear in the operands with two lists, and has rows of both or sums over them
  constexpr bool as_parts(int i, const shape (&s)[3]) {
    const node& v = at(i);
    bool zero[3] = {false, false, false};
    form whole[3], part[2];
    int first = no_node;
    for (int k = 2; k >= 0; --k)
      if (is_split(v.in[k])) {
        zero[k] = true;
        whole[k] = made_[v.in[k]];
        first = k;
      }
    if (first < 0 || !is_linear_in(v, zero)) return false;
    for (int k = 0; k < 3; ++k) // such an operand twice, or in another place
      for (int j = 0; j < 3; ++j)
        if (zero[k] && !zero[j] && v.in[j] == v.in[k]) return false;
    bool known = true;
    for (int p = 0; p < 2 && known; ++p) {
      for (int k = 0; k < 3; ++k)
        if (zero[k]) {
          made_[v.in[k]] = part_of(v.in[k], v.in[first], p);
          known = known && has_rows(v.in[k]);
        }
      made_[i] = form{};
      known = known && (as_rows(i, first, s) || as_sum(i, first, s));
      part[p] = made_[i];
    }
    for (int k = 0; k < 3; ++k)
      if (zero[k]) made_[v.in[k]] = whole[k];
    made_[i] = form{};
    if (!known || (part[0].rows >= 0) != (part[1].rows >= 0)) return false;
    if (part[0].rows < 0) made_[i].all = binary(g_, op::add, part[0].all, part[1].all);
    else
      for (int p = 0; p < 2; ++p) parts_[2 * i + p] = part[p];
    return true;
  }
  // What is zero outside S, and what is not, where they are added up: batch normalisation's cotangent is a sum of
  // rows S and of a * x + b, all rows. They go on side by side, f(scatter(r) + b) = f(scatter(r)) + f(b), as far as f
  // is linear and elementwise, a view or a sum; then the rows are added to the others in place.
  constexpr bool as_rows_and_base(int i, const shape (&s)[3]) {
    const node& v = at(i);
    if (!v.adjoint) return false;
    if (v.o == op::add || v.o == op::sub) {
      for (const bool rows_first : {true, false}) // that of base and rows of its list
        for (int k = 0; k < 2; ++k)
          if (has_rows(v.in[k]) == rows_first && is_sum_with_base(i, k)) return true;
      return false;
    }
    if (rule(v.o).k != kind::elementwise && rule(v.o).k != kind::view && v.o != op::sum) return false;
    int k = no_node;
    for (int j = 0; j < 3; ++j)
      if (has_base(v.in[j])) {
        if (k >= 0) return false;
        k = j;
      }
    bool zero[3] = {false, false, false};
    if (k < 0 || made_[v.in[k]].all >= 0) return false;
    zero[k] = true;
    if (!is_linear_in(v, zero)) return false;
    // linear in both together, as where: the rows of the other would be in the rows and in the base
    for (int j = 0; j < 3; ++j)
      if (j != k && has_rows(v.in[j])) return false;
    const form whole = made_[v.in[k]];
    made_[v.in[k]].base = no_node;
    const bool known = as_rows(i, k, s) || as_sum(i, k, s);
    made_[v.in[k]] = whole;
    if (!known) {
      made_[i] = form{};
      return false;
    }
    int in[3] = {no_node, no_node, no_node};
    for (int j = 0; j < 3; ++j)
      if (v.in[j] >= 0) in[j] = j == k ? whole.base : all(v.in[j]);
    const int base = remade(v, in, v.s);
    if (made_[i].rows >= 0) made_[i].base = base;
    else made_[i].all = binary(g_, op::add, made_[i].all, base);
    return true;
  }
  // a + b or a - b, where operand k has rows, and nothing asked for all of it yet
  constexpr bool is_sum_with_base(int i, int k) {
    const node& v = at(i);
    const int x = v.in[k], y = v.in[1 - k];
    if (!(has_rows(x) || has_base(x)) || made_[x].all >= 0 || !(at(x).s == v.s)) return false;
    form f = made_[x];
    const auto minus = [&](int a) { return unary(g_, op::neg, a, v.t); };
    const bool both = has_base(y) && made_[y].list.id == f.list.id && made_[y].axis.equals(f.axis) &&
                      made_[y].all < 0 && at(y).s == v.s;
    const int other = both ? made_[y].base : expand(g_, all(y), v.s);
    const int second = k == 0 && v.o == op::sub ? minus(other) : other; // to be added to the sign of x
    if (both)
      f.rows = k == 0 ? binary(g_, v.o, f.rows, made_[y].rows) : binary(g_, v.o, made_[y].rows, f.rows);
    else if (k == 1 && v.o == op::sub) f.rows = minus(f.rows);
    if (f.base < 0) f.base = second;
    else f.base = k == 0 ? binary(g_, v.o, f.base, other) : binary(g_, v.o, other, f.base);
    made_[i] = f;
    return true;
  }
  // scatter_add(d, S): where rows come from
  constexpr bool as_source(int i) {
    const node& v = at(i);
    if (v.o != op::scatter_add || v.in[2] >= 0 || at(v.in[1]).s.rank != 1) return false;
    const extent_t axis_extent = v.s.d[static_cast<int>(v.attr)];
    if (!lists_rows(at(v.in[1]), axis_extent)) return false;
    form& f = made_[i];
    f.axis = {static_cast<int>(v.attr), 1};
    f.list = {all(v.in[1]), axis_extent, at(v.in[1]).s.d[0], at(v.in[1]).o == op::select};
    if (has_rows(v.in[0]) && made_[v.in[0]].axis.equals(f.axis)) { // rows of a list of these rows
      const form& d = made_[v.in[0]];
      f.rows = d.rows;
      f.list.id = gathered(f.list.id, d.list, {0, 1});
      f.list.count = d.list.count;
      f.list.distinct = f.list.distinct && d.list.distinct;
      return true;
    }
    f.rows = all(v.in[0]);
    if (g_[f.rows].o == op::copy && g_[f.rows].attr == 0) f.rows = g_[f.rows].in[0];
    return true;
  }
  // The rows where a vector is not zero, which is made of some masks.
  constexpr row_list list_of(int vector, unsigned masks) {
    for (const row_list& l : of_masks_)
      if (l.mask == vector) return l;
    const extent_t n = g_[vector].s.d[0], count = unwritten_extent(first_count_ + of_masks_.size());
    of_masks_.push_back({select(g_, vector, no_node, {}, count), n, count, true, vector, masks});
    return of_masks_.back();
  }
  // A mask has all its rows, and those that are not zero.
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
  // The rows that one of two masks keeps, or both.
  constexpr row_list together(const row_list& a, const row_list& b) {
    if (a.holds(b)) return a;
    if (b.holds(a)) return b;
    return list_of(binary(g_, op::logical_or, nonzero(a.mask), nonzero(b.mask)), a.masks | b.masks);
  }
  // The result where operands are rows of several masks: zero outside the rows that one of these keeps.
  constexpr bool as_rows_of_masks(int i, const shape (&s)[3]) {
    const node& v = at(i);
    int first = no_node;
    row_list list;
    for (int k = 2; k >= 0; --k)
      if (has_rows(v.in[k])) {
        const row_list& l = made_[v.in[k]].list;
        if (l.mask < 0 || (first >= 0 && l.n != list.n)) return false;
        if (first >= 0 && (list.masks | l.masks) == covering_) return false;
        list = first < 0 ? l : together(list, l);
        first = k;
      }
    return first >= 0 && list.id != made_[v.in[first]].list.id && as_rows_of(list, i, first, s);
  }

public:
  // splits: the sum of two cotangents of different lists is carried as the two
  constexpr explicit scatter_pullup(const raw_program& p, bool splits = false)
      : row_rewriter(p),
        made_(p.nodes.size(), form{}),
        parts_(splits ? 2 * p.nodes.size() : 0, form{}),
        splits_(splits) {}
  constexpr bool lists_meet() const { return lists_meet_; }                   // @pre run
  constexpr const vec<row_list>& lists_of_masks() const { return of_masks_; } // @pre run

  // masks: nodes whose rows of zeros are left out; covers: in each row one of them is not zero
  constexpr raw_program run(const vec<int>& masks = {}, bool covers = false) {
    if (covers) covering_ = (1u << masks.size()) - 1;
    for (int i = 0; i < p_.nodes.size(); ++i) {
      const node& v = at(i);
      g_.in_adjoint = v.adjoint;
      if (rule(v.o).k == kind::leaf) made_[i].all = leaf(v);
      else {
        shape s[3]{};
        shapes_of(v, s);
        bool done = as_source(i);
        for (int k = 0; k < 3 && !done; ++k)
          if (has_rows(v.in[k])) done = as_rows(i, k, s) || as_sum(i, k, s);
        done = done || as_rows_of_masks(i, s) || as_two_lists(i) || as_parts(i, s) || as_rows_and_base(i, s);
        if (!done) {
          int in[3] = {no_node, no_node, no_node};
          for (int k = 0; k < 3; ++k)
            if (v.in[k] >= 0) in[k] = all(v.in[k]);
          made_[i].all = again(v, in, v.s);
        }
      }
      for (int k = 0; k < masks.size(); ++k)
        if (is_reshape_of(i, masks[k])) list_mask(i, 1u << k);
    }
    vec<int> outputs;
    for (const int o : p_.outputs) {
      g_.in_adjoint = at(o).adjoint;
      outputs.push_back(all(o));
    }
    return finished(outputs);
  }
};

} // namespace tapeless::detail
