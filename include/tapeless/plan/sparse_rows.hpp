// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Programs that select rows, rewritten so that the rows that are left out cost nothing.
//   scatter_sinking   The cotangent of gather(x, S) is scatter(d, S), zero outside S. The scatter is moved outward, past the ops
//                   of the adjoint, until it meets a sum over rows, where it vanishes:
//                     f'(X) * scatter(d, S) = scatter(f'(X[S]) * d, S)       X^T scatter(d, S) = X[S]^T d
//   gather_pushing    X[S] is computed from rows S of what X is computed from, where nothing else needs all of X.
#pragma once
#include "rows.hpp"

namespace tapeless::detail {

// A list of positions along an axis of extent n.
struct row_list {
  int id = no_node; // of the list, in the new graph
  extent_t n = 0, count = 0;
  bool distinct = true; // no position occurs twice
  int mask = no_node;   // of n rows, which it lists, or none
};

// How many names the lists have that rewritings made: the first ones.
constexpr int unwritten_counts(const raw_program& p) {
  int n = 0;
  for (const node& v : p.nodes)
    if (v.o == op::select && has_unwritten_name(v.s.d[0]))
      if (const auto k = static_cast<int>(names(v.s.d[0]) - first_unwritten); k >= n) n = k + 1;
  return n;
}

class row_rewriter {
protected:
  const raw_program& p_;
  graph g_;

  constexpr explicit row_rewriter(const raw_program& p) : p_(p) {}
  constexpr const node& at(int i) const { return p_.nodes[i]; }

  constexpr int renewed(node v, const int (&in)[3], const shape& s) {
    for (int k = 0; k < 3; ++k) v.in[k] = in[k];
    v.s = s;
    return g_.intern(v);
  }
  constexpr int leaf(const node& v) {
    const int none[3] = {no_node, no_node, no_node};
    const int id = v.o == op::input ? g_.input(static_cast<int>(v.attr), v.t, v.s, is_pattern_leaf(v))
                                    : renewed(v, none, v.s);
    g_.nodes[id].active = v.active;
    g_.nodes[id].weighs = v.weighs;
    return id;
  }
  // v as it is, of other operands
  constexpr int again(const node& v, const int (&in)[3], const shape& s) {
    int operand[3] = {in[0], in[1], in[2]};
    if (rule(v.o).k == kind::whole)
      for (int& x : operand)
        if (x >= 0) x = dense(g_, x);
    if (is_counted(v)) g_.learn_count(v.s.d[0]);
    return renewed(v, operand, s);
  }

  // (before.., n * block, after..) -> (before, n, block * after): not (.., n, block, ..), for 6 axes would become 7
  static constexpr shape split(const shape& s, const row_axis& a, extent_t n) {
    shape r{3, {1, n, a.block}};
    for (int i = 0; i < s.rank; ++i)
      if (i != a.axis) {
        extent_t& e = r.d[i < a.axis ? 0 : 2];
        e = times(e, s.d[i]);
      }
    return r;
  }
  // x[list] along the axis. Rows T of a list S are x[S][T], so that what is computed of rows S has all that T asks for.
  constexpr int taken(int x, int list, int axis) {
    const node v = g_[list], of = g_[x];
    if (v.o == op::select && of.o == op::scatter_add && of.in[1] == list && of.in[2] < 0 &&
        static_cast<int>(of.attr) == axis)
      return of.in[0]; // rows S of what is zero outside S
    const bool nested = v.o == op::gather && g_[v.in[0]].s.rank == 1 && g_[v.in[1]].s.rank == 1 &&
                        lists_rows(g_[v.in[0]], g_[x].s.d[axis]) &&
                        lists_rows(g_[v.in[1]], g_[v.in[0]].s.d[0]);
    return nested ? gather(g_, taken(x, v.in[0], axis), v.in[1], axis) : gather(g_, x, list, axis);
  }
  // Rows of a node of the new graph; it is read through its views.
  constexpr int gathered(int x, const row_list& list, const row_axis& a) {
    if (!a.found()) return x;
    const node v = g_[x];
    const shape s = with_rows(v.s, a, list.count);
    switch (v.o) {
      case op::copy:
        if (v.attr == 0) return gathered(v.in[0], list, a);
        break;
      case op::expand: {
        const shape inner = g_[v.in[0]].s;
        const int axis = a.axis - (v.s.rank - inner.rank);
        const bool repeats = axis < 0 || inner.d[axis] == 1;
        return expand(g_, repeats ? v.in[0] : gathered(v.in[0], list, {axis, a.block}), s);
      }
      case op::transpose:
        return transpose(g_, gathered(v.in[0], list, {perm_axis(v.attr, a.axis), a.block}), v.attr);
      case op::reshape:
        if (const row_axis b = reshaped_rows(v.s, a, list.n, g_[v.in[0]].s); b.found())
          return reshape(g_, gathered(v.in[0], list, b), s);
        break;
      default: break;
    }
    if (v.o == op::reshape && v.s.rank > 1 &&
        squeezed(v.s) == shape{1, {list.n}}) // one vector, whatever its shape
      return reshape(g_, taken(reshape(g_, x, shape{1, {list.n}}), list.id, 0), s);
    if (a.block == 1) return taken(x, list.id, a.axis);
    return reshape(g_, taken(reshape(g_, x, split(v.s, a, list.n)), list.id, 1), s);
  }
  // All rows from those of the list: zero elsewhere, or added to all those of the base.
  constexpr int scattered(int compact, const row_list& list, const row_axis& a, const shape& s,
                          int base = no_node) {
    if (a.block == 1) return scatter_add(g_, compact, list.id, a.axis, s, base);
    const int rows = reshape(g_, compact, split(g_[compact].s, a, list.count));
    const shape to = split(s, a, list.n);
    return reshape(g_, scatter_add(g_, rows, list.id, 1, to, base < 0 ? base : reshape(g_, base, to)), s);
  }
  // v with other operands, for which its result has the shape s
  constexpr int remade(const node& v, const int (&in)[3], const shape& s) {
    if (rule(v.o).k == kind::elementwise && v.o != op::copy && !is_custom(v.o)) {
      const int r = v.o == op::where ? where(g_, in[0], in[1], in[2])
                    : v.in[1] >= 0   ? binary(g_, v.o, in[0], in[1])
                                     : unary(g_, v.o, in[0], v.t);
      return expand(g_, r, s);
    }
    switch (v.o) {
      case op::sum: return sum(g_, in[0], static_cast<unsigned>(v.attr));
      case op::expand: return expand(g_, in[0], s);
      case op::reshape: return reshape(g_, in[0], s);
      case op::transpose: return transpose(g_, in[0], v.attr);
      case op::slice: {
        const int axis = static_cast<int>(v.attr);
        return slice(g_, in[0], axis, static_cast<extent_t>(v.attr2), s.d[axis]);
      }
      case op::matmul: return matmul(g_, in[0], in[1], (v.attr & 1u) != 0, (v.attr & 2u) != 0);
      default: return again(v, in, s);
    }
  }
  // Is node i this vector, or another reshape of what it is a reshape of?
  constexpr bool is_reshape_of(int i, int vector) const {
    const node &v = at(i), &m = at(vector);
    if (i == vector || v.o != op::reshape || m.o != op::reshape || v.in[0] != m.in[0]) return i == vector;
    int rows = 0;
    for (int a = 0; a < v.s.rank; ++a) rows += v.s.d[a] == numel(m.s) ? 1 : 0;
    return rows == 1;
  }
  constexpr void shapes_of(const node& v, shape (&s)[3]) const {
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) s[k] = at(v.in[k]).s;
  }
  constexpr raw_program finished(const vec<int>& outputs) {
    raw_program r = compact(g_, outputs);
    r.broken = g_.broken;
    return r;
  }
};

class scatter_sinking : row_rewriter {
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
  const int first_count_ = unwritten_counts(p_);
  vec<row_list> of_masks_; // the k-th has unwritten_extent(first_count_ + k) rows
  vec<unsigned> made_of_;  // the masks of these lists

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
  constexpr bool is_zero(int x) const {
    const int id = made_[x].all;
    return id >= 0 && g_.is(unexpanded(g_, id), 0);
  }

  // The result as rows of the list that operand k has.
  constexpr bool as_rows(int i, int k, const shape (&s)[3]) {
    const node& v = at(i);
    const form from = made_[v.in[k]];
    const row_axis to = where_rows_go(v, s, k, from.axis, from.list.n);
    if (!to.found()) return false;
    const rows_of_operands r = where_rows_come_from(v, s, to, from.list.n);
    bool zero[3] = {false, false, false};
    for (int j = 0; j < 3; ++j)
      if (has_rows(v.in[j])) {
        const form& f = made_[v.in[j]];
        zero[j] = f.list.id == from.list.id && f.axis.equals(r.operand[j]);
      }
    if (!zero_outside(v, zero, [&](int j) { return is_zero(v.in[j]); })) return false;
    if (!from.list.distinct && !is_linear(v.o, zero)) return false;
    int in[3] = {no_node, no_node, no_node};
    for (int j = 0; j < 3; ++j)
      if (v.in[j] >= 0)
        in[j] = zero[j] ? made_[v.in[j]].rows : gathered(all(v.in[j]), from.list, r.operand[j]);
    made_[i].rows = remade(v, in, with_rows(v.s, to, from.list.count));
    made_[i].list = from.list;
    made_[i].axis = to;
    return true;
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
  // Part `part` of operand k, in the order of the lists of operand `first`; no form where it has other lists.
  constexpr form part_of(int x, int first, int part) const {
    for (int p = 0; p < 2; ++p)
      if (const form& f = parts_[2 * x + p]; f.list.id == parts_[2 * first + part].list.id) return f;
    return {};
  }
  // f(a + b) = f(a) + f(b), where f is linear in the operands with two lists, and has rows of both or sums over them
  constexpr bool as_parts(int i, const shape (&s)[3]) {
    const node& v = at(i);
    bool zero[3] = {false, false, false};
    form whole[3], part[2];
    int first = no_node, several = 0;
    for (int k = 2; k >= 0; --k)
      if (is_split(v.in[k])) {
        ++several;
        zero[k] = true;
        whole[k] = made_[v.in[k]];
        first = k;
      }
    if (first < 0 || !is_linear(v.o, zero)) return false;
    // linear in several together
    if (several > 1 && v.o != op::add && v.o != op::sub && v.o != op::where && v.o != op::concat)
      return false;
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
    if (!is_linear(v.o, zero)) return false;
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
    of_masks_.push_back({select(g_, vector, no_node, {}, count), n, count, true, vector});
    made_of_.push_back(masks);
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
                 ? expand(g_, g_.konst(1, dtype::boolean), with_rows(s, f.axis, f.list.count))
                 : gathered(f.all, f.list, f.axis);
  }
  // The rows that one of two masks keeps, or both.
  constexpr row_list together(const row_list& a, const row_list& b) {
    unsigned masks = 0;
    for (int k = 0; k < of_masks_.size(); ++k)
      if (of_masks_[k].id == a.id || of_masks_[k].id == b.id) masks |= made_of_[k];
    const auto kept = [&](int m) {
      return g_[m].t == dtype::boolean ? m : binary(g_, op::ne, m, zeros(g_, g_[m].t, g_[m].s));
    };
    return list_of(binary(g_, op::logical_or, kept(a.mask), kept(b.mask)), masks);
  }
  // Rows of a list, and zeros, as those of one that has these and others.
  constexpr int among(const form& f, const row_list& more, const shape& s) {
    const int place = scatter_add(g_, iota(g_, shape{1, {more.count}}), more.id, 0, shape{1, {more.n}});
    const row_list in_more{gather(g_, place, f.list.id, 0), more.count, f.list.count};
    return scattered(f.rows, in_more, f.axis, s);
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
        list = first < 0 || l.id == list.id ? l : together(list, l);
        first = k;
      }
    if (first < 0 || list.id == made_[v.in[first]].list.id) return false;
    const row_axis to = where_rows_go(v, s, first, made_[v.in[first]].axis, list.n);
    if (!to.found()) return false;
    const rows_of_operands r = where_rows_come_from(v, s, to, list.n);
    bool zero[3] = {false, false, false};
    for (int j = 0; j < 3; ++j) zero[j] = has_rows(v.in[j]) && made_[v.in[j]].axis.equals(r.operand[j]);
    if (!zero_outside(v, zero, [&](int j) { return is_zero(v.in[j]); })) return false;
    int in[3] = {no_node, no_node, no_node};
    for (int j = 0; j < 3; ++j)
      if (v.in[j] >= 0)
        in[j] = zero[j] ? among(made_[v.in[j]], list, with_rows(at(v.in[j]).s, r.operand[j], list.count))
                        : gathered(all(v.in[j]), list, r.operand[j]);
    made_[i].rows = remade(v, in, with_rows(v.s, to, list.count));
    made_[i].list = list;
    made_[i].axis = to;
    return true;
  }

public:
  // splits: the sum of two cotangents of different lists is carried as the two
  constexpr explicit scatter_sinking(const raw_program& p, bool splits = false)
      : row_rewriter(p),
        made_(p.nodes.size(), form{}),
        parts_(splits ? 2 * p.nodes.size() : 0, form{}),
        splits_(splits) {}
  constexpr bool lists_meet() const { return lists_meet_; }                  // @pre run
  constexpr const vec<unsigned>& lists_of_masks() const { return made_of_; } // @pre run

  // masks: nodes whose rows of zeros are left out
  constexpr raw_program run(const vec<int>& masks = {}) {
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

class gather_pushing : row_rewriter {
  struct demand {       // of rows of a node
    int list = no_node; // in the program
    extent_t n = 0;     // of how many
    row_axis axis;
    bool several = false; // of more lists or axes than one
  };
  vec<demand> wanted_;
  vec<char> all_wanted_, in_memory_, pushed_, lists_; // lists_: some rows are wanted by it
  vec<char> read_;      // rows of computed values are read by it from all of them
  bool recomputes_;     // where neither is asked for
  bool in_turn_;        // rows of rows of x are read from the latter, not from x
  vec<int> all_, rows_; // ids in the new graph

  constexpr int n_() const { return p_.nodes.size(); }
  constexpr bool takes_rows(const node& v) const {
    return v.o == op::gather && lists_rows(at(v.in[1]), at(v.in[0]).s.d[static_cast<int>(v.attr)]);
  }
  constexpr void want(int x, int list, extent_t n, const row_axis& axis) {
    demand& d = wanted_[x];
    lists_[list] = 1;
    if (d.list < 0) d = {list, n, axis, false};
    else if (d.list != list || d.n != n || !d.axis.equals(axis)) d.several = true;
  }
  constexpr bool recomputes(int list) const {
    if (at(list).o != op::select) return false;
    const select_attributes q = attributes_of_select(at(list));
    return q.is_open() ? recomputes_ : q.recomputes();
  }
  // May its rows be computed from rows of its operands?
  constexpr bool pushes(int i, rows_of_operands& r) const {
    const node& v = at(i);
    const demand& d = wanted_[i];
    if (d.list < 0 || d.several || rule(v.o).k == kind::leaf || (in_turn_ && takes_rows(v))) return false;
    // an elementwise value that no buffer holds is computed again for its rows
    if (all_wanted_[i] != 0 && !recomputes(d.list) &&
        (rule(v.o).k != kind::elementwise || in_memory_[i] != 0))
      return false;
    shape s[3]{};
    shapes_of(v, s);
    r = where_rows_come_from(v, s, d.axis, d.n);
    return r.known;
  }
  constexpr void find_demands() {
    for (const int o : p_.outputs) all_wanted_[o] = in_memory_[o] = 1;
    for (int i = n_() - 1; i >= 0; --i) {
      const node& v = at(i);
      rows_of_operands r;
      if (pushes(i, r)) {
        pushed_[i] = 1;
        for (int k = 0; k < 3; ++k)
          if (v.in[k] >= 0) {
            if (r.operand[k].found()) want(v.in[k], wanted_[i].list, wanted_[i].n, r.operand[k]);
            else all_wanted_[v.in[k]] = 1;
          }
      } else if (wanted_[i].list >= 0) {
        all_wanted_[i] = 1;
      }
      if (all_wanted_[i] == 0) continue;
      const bool rows_only = takes_rows(v);
      if (rows_only) want(v.in[0], v.in[1], axis_extent(v), {static_cast<int>(v.attr), 1});
      for (int k = rows_only ? 1 : 0; k < 3; ++k)
        if (v.in[k] >= 0) {
          all_wanted_[v.in[k]] = 1;
          if (rule(v.o).k == kind::whole || (rule(v.o).k == kind::view && in_memory_[i] != 0))
            in_memory_[v.in[k]] = 1;
        }
    }
  }

  constexpr extent_t axis_extent(const node& of_gather) const {
    return at(of_gather.in[0]).s.d[static_cast<int>(of_gather.attr)];
  }
  constexpr int rows_of(int x, int list, extent_t n, const row_axis& axis) {
    if (!axis.found()) return all_[x];
    if (pushed_[x] != 0) return rows_[x];
    if (rule(at(x).o).k != kind::leaf) read_[list] = 1;
    return gathered(all_[x], {all_[list], n, at(list).s.d[0]}, axis);
  }
  constexpr void make_rows(int i) {
    const node& v = at(i);
    const demand& d = wanted_[i];
    g_.in_adjoint = v.adjoint;
    shape s[3]{};
    shapes_of(v, s);
    const rows_of_operands r = where_rows_come_from(v, s, d.axis, d.n);
    int in[3] = {no_node, no_node, no_node};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) in[k] = rows_of(v.in[k], d.list, d.n, r.operand[k]);
    rows_[i] = remade(v, in, with_rows(v.s, d.axis, at(d.list).s.d[0]));
  }
  constexpr void make_all(int i) {
    const node& v = at(i);
    g_.in_adjoint = v.adjoint;
    if (rule(v.o).k == kind::leaf) {
      all_[i] = leaf(v);
      return;
    }
    if (takes_rows(v)) {
      all_[i] = rows_of(v.in[0], v.in[1], axis_extent(v), {static_cast<int>(v.attr), 1});
      return;
    }
    int in[3] = {no_node, no_node, no_node};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) in[k] = all_[v.in[k]];
    all_[i] = again(v, in, v.s);
  }

public:
  // recomputes: what is read of a selection's rows is computed again, where the selection does not say what is done
  // in_turn: of rows of rows, both are made
  constexpr explicit gather_pushing(const raw_program& p, bool recomputes = false, bool in_turn = false)
      : row_rewriter(p),
        wanted_(p.nodes.size(), demand{}),
        all_wanted_(p.nodes.size(), 0),
        in_memory_(p.nodes.size(), 0),
        pushed_(p.nodes.size(), 0),
        lists_(p.nodes.size(), 0),
        read_(p.nodes.size(), 0),
        recomputes_(recomputes),
        in_turn_(in_turn),
        all_(p.nodes.size(), no_node),
        rows_(p.nodes.size(), no_node) {}

  // Does a list of rows of a list read rows?
  constexpr bool has_rows_of_rows() const {
    for (const node& v : p_.nodes)
      if (takes_rows(v) && takes_rows(at(v.in[0]))) return true;
    return false;
  }
  constexpr raw_program run() {
    find_demands();
    for (int i = 0; i < n_(); ++i) {
      if (all_wanted_[i] != 0) make_all(i);
      if (pushed_[i] != 0 && all_[wanted_[i].list] >= 0) make_rows(i);
      if (lists_[i] != 0) // what could not be computed before it was known
        for (int j = 0; j < i; ++j)
          if (pushed_[j] != 0 && wanted_[j].list == i) make_rows(j);
    }
    for (int i = 0; i < n_(); ++i) // for explain; from here on nothing is interned
      if (at(i).o == op::select && (recomputes(i) ? lists_[i] : read_[i]) != 0)
        g_.nodes[all_[i]].attr |=
            static_cast<std::uint64_t>(recomputes(i) ? residual::recomputed : residual::retained) << 16;
    vec<int> outputs;
    for (const int o : p_.outputs) outputs.push_back(all_[o]);
    return finished(outputs);
  }
};

} // namespace tapeless::detail
