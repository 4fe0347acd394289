// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The cotangent of gather(x, S) is scatter(d, S), zero outside S. Scatters are pulled up past the ops of the adjoint
// until they meet a sum over rows, where they vanish:
//     f'(X) * scatter(d, S) = scatter(f'(X[S]) * d, S)       X^T scatter(d, S) = X[S]^T d
// Masks are pulled up in the same way (row_form.hpp).
#pragma once
#include "row_form.hpp" // IWYU pragma: export

namespace tapeless::detail {

class scatter_pullup : row_forms {
  bool lists_meet_ = false; // two lists were added up
  unsigned covering_ = 0;   // bits of masks that together keep each row, or 0

  // Each rule makes the form of node i, or returns false.

  // Rows of a list that holds the rows of operand k.
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
  constexpr bool as_rows(int i, int k, const shape (&s)[3]) {
    return as_rows_of(row_list{made_[at(i).in[k]].list}, i, k, s);
  }
  // A sum over the rows of operand k, or a gather of them by their own list, needs these rows alone.
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
        axis_of_index < s[1].rank) { // the gradient of a table
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
  // a + b or a - b with rows of two lists in all.
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
  // f(a + b) = f(a) + f(b), if f is linear in the operands with two lists and passes on both rows or sums over both.
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
    for (int k = 0; k < 3; ++k) // not if an operand with two lists has another role, too
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
  // A sum of rows S and a whole tensor b, such as the cotangent of batch normalisation. The two stay apart,
  //   f(scatter(r) + b) = f(scatter(r)) + f(b)
  // as long as f is linear and is elementwise, a view or a sum. In the end the rows are added to the base in place.
  constexpr bool as_rows_and_base(int i, const shape (&s)[3]) {
    const node& v = at(i);
    if (!v.adjoint) return false;
    if (v.o == op::add || v.o == op::sub) {
      for (const bool rows_first : {true, false}) // first an operand without base
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
    // where(c, x, y) is linear in x and y together: the rows of y would count twice, in the rows and in the base
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
  // a + b or a - b: operand k has rows, and its whole has not been made yet.
  constexpr bool is_sum_with_base(int i, int k) {
    const node& v = at(i);
    const int x = v.in[k], y = v.in[1 - k];
    if (!(has_rows(x) || has_base(x)) || made_[x].all >= 0 || !(at(x).s == v.s)) return false;
    form f = made_[x];
    const auto minus = [&](int a) { return unary(g_, op::neg, a, v.t); };
    const bool both = has_base(y) && made_[y].list.id == f.list.id && made_[y].axis.equals(f.axis) &&
                      made_[y].all < 0 && at(y).s == v.s;
    const int other = both ? made_[y].base : expand(g_, all(y), v.s);
    const int second = k == 0 && v.o == op::sub ? minus(other) : other; // added to x or -x
    if (both)
      f.rows = k == 0 ? binary(g_, v.o, f.rows, made_[y].rows) : binary(g_, v.o, made_[y].rows, f.rows);
    else if (k == 1 && v.o == op::sub) f.rows = minus(f.rows);
    if (f.base < 0) f.base = second;
    else f.base = k == 0 ? binary(g_, v.o, f.base, other) : binary(g_, v.o, other, f.base);
    made_[i] = f;
    return true;
  }
  // scatter_add(d, S): here the form begins.
  constexpr bool as_source(int i) {
    const node& v = at(i);
    if (v.o != op::scatter_add || v.in[2] >= 0 || at(v.in[1]).s.rank != 1) return false;
    const extent_t axis_extent = v.s.d[static_cast<int>(v.attr)];
    if (!lists_rows(at(v.in[1]), axis_extent)) return false;
    form& f = made_[i];
    f.axis = {static_cast<int>(v.attr), 1};
    f.list = {all(v.in[1]), axis_extent, at(v.in[1]).s.d[0], at(v.in[1]).o == op::select};
    if (has_rows(v.in[0]) && made_[v.in[0]].axis.equals(f.axis)) { // d has rows of a list T: the list is S[T]
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
  // Operands with rows of several masks: the result is zero outside the rows that one of them keeps.
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
  // splits: a sum of cotangents with two different lists stays two terms
  constexpr explicit scatter_pullup(const raw_program& p, bool splits = false) : row_forms(p, splits) {}
  constexpr bool lists_meet() const { return lists_meet_; }                   // @pre run
  constexpr const vec<row_list>& lists_of_masks() const { return of_masks_; } // @pre run

  // masks: nodes whose rows of zeros are left out; covers: in every row one of them is not zero
  constexpr raw_program run(const vec<int>& masks = {}, bool covers = false) {
    if (covers) covering_ = (1u << masks.size()) - 1;
    for (int i = 0; i < p_.nodes.size(); ++i) {
      const node& v = at(i);
      g_.in_adjoint = v.adjoint;
      if (rule(v.o).k == kind::leaf) made_[i].all = leaf(v);
      else {
        const operand_shapes s(p_, v);
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
