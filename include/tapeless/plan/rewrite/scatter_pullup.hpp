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

  using operands = form[3]; // of a node, each with one term or whole

  constexpr int whole(const node& v, const operands& x, int k) {
    return x[k].all >= 0 ? x[k].all : all(v.in[k]);
  }

  // Each rule returns what node i makes of these operands, or no rows.

  // Rows of a list that holds the rows of operand k.
  constexpr form rows_in(const row_list& list, int i, int k, const operands& x, const shape (&s)[3]) {
    const node& v = at(i);
    const row_axis to = where_rows_go(v, s, k, x[k].of[0]->axis, list.n);
    if (!to.found()) return {};
    const rows_of_operands r = where_rows_come_from(v, s, to, list.n);
    bool zero[3] = {false, false, false};
    for (int j = 0; j < 3; ++j)
      if (const term* const t = x[j].of[0]; t != nullptr)
        zero[j] = list.holds(t->list) && t->axis.equals(r.operand[j]);
    if (!zero_outside(v, zero, [&](int j) { return is_known_zero(x[j]); })) return {};
    if (!list.distinct && !is_linear_in(v, zero, x)) return {};
    int in[3] = {no_node, no_node, no_node};
    for (int j = 0; j < 3; ++j)
      if (v.in[j] >= 0)
        in[j] = zero[j] ? among(list, *x[j].of[0], v.in[j]) : gathered(whole(v, x, j), list, r.operand[j]);
    return rows_of({remade(v, in, with_rows(v.s, to, list.count)), list, to});
  }
  // A sum over the rows of operand k, or a gather of them by their own list, needs these rows alone.
  constexpr form sum_over_rows(int i, int k, const operands& x, const shape (&s)[3]) {
    const node& v = at(i);
    const term& from = *x[k].of[0];
    int in[3] = {no_node, no_node, no_node};
    if (v.o == op::gather && k == 0 && from.list.distinct && static_cast<int>(v.attr) == from.axis.axis &&
        from.axis.block == 1 && x[1].all == from.list.id)
      return {from.rows};
    in[k] = from.rows;
    const int axis_of_index = from.axis.axis - static_cast<int>(v.attr);
    if (v.o == op::scatter_add && k == 0 && v.in[2] < 0 && axis_of_index >= 0 &&
        axis_of_index < s[1].rank) { // the gradient of a table
      in[1] = gathered(whole(v, x, 1), from.list, {axis_of_index, from.axis.block});
      return {remade(v, in, v.s)};
    }
    const row_sum q = where_rows_are_summed(v, s, k, from.axis);
    if (!q.found) return {};
    if (q.other >= 0) {
      const term* const t = x[q.other].of[0];
      const bool same =
          from.list.distinct && t != nullptr && t->list.id == from.list.id && t->axis.equals(q.axis);
      in[q.other] = same ? t->rows : gathered(whole(v, x, q.other), from.list, q.axis);
    }
    return {remade(v, in, v.s)};
  }
  // Operands with rows of several masks: the result is zero outside the rows that one of them keeps.
  constexpr form rows_of_masks(int i, const operands& x, const shape (&s)[3]) {
    int first = no_node;
    row_list list;
    for (int k = 2; k >= 0; --k)
      if (x[k].of[0] != nullptr) {
        const row_list& l = x[k].of[0]->list;
        if (l.mask < 0 || (first >= 0 && l.n != list.n)) return {};
        if (first >= 0 && (list.masks | l.masks) == covering_) return {};
        list = first < 0 ? l : together(list, l);
        first = k;
      }
    return first >= 0 && list.id != x[first].of[0]->list.id ? rows_in(list, i, first, x, s) : form{};
  }
  constexpr form made_of_rows(int i, const operands& x, const shape (&s)[3]) {
    for (int k = 0; k < 3; ++k)
      if (x[k].of[0] != nullptr) {
        form r = rows_in(x[k].of[0]->list, i, k, x, s);
        if (!r.found()) r = sum_over_rows(i, k, x, s);
        if (r.found()) return r;
      }
    return rows_of_masks(i, x, s);
  }
  // scatter_add(d, S): here the form begins.
  constexpr form source(int i) {
    const node& v = at(i);
    if (v.o != op::scatter_add || v.in[2] >= 0 || at(v.in[1]).s.rank != 1) return {};
    const extent_t axis_extent = v.s.d[static_cast<int>(v.attr)];
    if (!lists_rows(at(v.in[1]), axis_extent)) return {};
    term r;
    r.axis = {static_cast<int>(v.attr), 1};
    r.list = {all(v.in[1]), axis_extent, at(v.in[1]).s.d[0], at(v.in[1]).o == op::select};
    const term* const d = operand(v.in[0]).of[0];
    if (d != nullptr && d->axis.equals(r.axis)) { // d has rows of a list T: the list is S[T]
      r.rows = d->rows;
      r.list.id = gathered(r.list.id, d->list, {0, 1});
      r.list.count = d->list.count;
      r.list.distinct = r.list.distinct && d->list.distinct;
    } else {
      r.rows = all(v.in[0]);
      if (g_[r.rows].o == op::copy && g_[r.rows].attr == 0) r.rows = g_[r.rows].in[0];
    }
    return rows_of(r);
  }

  // Takes the lists of f up among these, unless there are too many.
  constexpr bool takes_up(form& lists, const form& f) {
    form with = lists;
    for (const term* const t : f.of) {
      if (t == nullptr) break;
      int p = 0;
      while (p < max_terms_ && with.of[p] != nullptr && !with.of[p]->has_list_of(*t)) ++p;
      if (p == max_terms_) {
        lists_meet_ = true;
        return false;
      }
      with.of[p] = t;
    }
    lists = with;
    return true;
  }
  // f(a + b) = f(a) + f(b) if f is linear in the operands that are sums. Terms stay terms, if each has a rule. f of the
  // bases is the base, as in the cotangent of batch normalisation: only if f is elementwise, a view or a sum. In the
  // end the rows are added to the base in place.
  constexpr form sum_of_terms(int i, const shape (&s)[3]) {
    const node& v = at(i);
    unsigned rows = 0, sums = 0; // bits of operands with terms; of those that are sums
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) {
        rows |= (made_[v.in[k]].of[0] != nullptr ? 1u : 0u) << k;
        sums |= (made_[v.in[k]].is_sum() ? 1u : 0u) << k;
      }
    const unsigned linear = linear_with(v, sums != 0 ? sums : rows);
    if (linear == 0) return {};
    form x[3], lists; // lists.of: a term with each list of the operands
    bool with_base = false;
    for (int k = 0; k < 3; ++k) {
      if ((linear >> k & 1u) == 0) continue;
      x[k] = made_[v.in[k]];
      const bool apart = x[k].of[0] != nullptr && (x[k].base < 0 || x[k].all < 0) && takes_up(lists, x[k]);
      if (!apart) x[k] = {no_node, is_known_zero(x[k]) ? no_node : all(v.in[k])};
      with_base = with_base || x[k].base >= 0;
    }
    const kind of_f = rule(v.o).k;
    const bool keeps_base = v.adjoint && (of_f == kind::elementwise || of_f == kind::view || v.o == op::sum);
    if (lists.of[0] == nullptr || (with_base ? !keeps_base : lists.of[1] == nullptr)) return {};
    form r;
    const auto add_to_base = [&](int a) { r.base = r.base < 0 ? a : binary(g_, op::add, r.base, a); };
    for (const term* const list : lists.of) {
      if (list == nullptr) break;
      form part[3];
      for (int k = 0; k < 3; ++k)
        if ((linear >> k & 1u) == 0) part[k] = operand(v.in[k]);
        else {
          for (const term* const t : x[k].of)
            if (t != nullptr && t->has_list_of(*list)) part[k].of[0] = t;
          if (part[k].of[0] == nullptr) part[k].all = zeros(g_, at(v.in[k]).t, s[k]);
        }
      const form f = made_of_rows(i, part, s);
      if (!f.found()) return {};
      if (f.of[0] != nullptr) r.of[r.of[0] != nullptr ? 1 : 0] = f.of[0];
      else add_to_base(f.all);
    }
    if (with_base) {
      int in[3] = {no_node, no_node, no_node};
      for (int k = 0; k < 3; ++k) {
        if (v.in[k] < 0) continue;
        in[k] = (linear >> k & 1u) == 0 ? all(v.in[k]) : x[k].base;
        if (in[k] < 0) in[k] = zeros(g_, at(v.in[k]).t, s[k]);
      }
      add_to_base(remade(v, in, v.s));
    }
    return r.of[0] != nullptr ? r : form{r.base};
  }

public:
  // max_terms: 2 if a sum of cotangents with two different lists stays two terms, or 1
  constexpr explicit scatter_pullup(const raw_program& p, int max_terms = 1) : row_forms(p, max_terms) {}
  // @pre run
  constexpr bool lists_meet() const { return lists_meet_; }
  constexpr const block_list<term>& lists_of_masks() const { return of_masks_; }

  // masks: nodes whose rows of zeros are left out; covers: in every row one of them is not zero
  constexpr raw_program run(const vec<int>& masks = {}, bool covers = false) {
    if (covers) covering_ = (1u << masks.size()) - 1;
    for (int i = 0; i < p_.nodes.size(); ++i) {
      const node& v = at(i);
      g_.in_adjoint = v.adjoint;
      if (rule(v.o).k == kind::leaf) made_[i].all = leaf(v);
      else {
        const operand_shapes s(p_, v);
        const form x[3] = {operand(v.in[0]), operand(v.in[1]), operand(v.in[2])};
        form r = source(i);
        if (!r.found()) r = made_of_rows(i, x, s);
        if (!r.found()) r = sum_of_terms(i, s);
        if (!r.found()) {
          int in[3] = {no_node, no_node, no_node};
          for (int k = 0; k < 3; ++k)
            if (v.in[k] >= 0) in[k] = all(v.in[k]);
          r.all = again(v, in, v.s);
        }
        made_[i] = r;
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
