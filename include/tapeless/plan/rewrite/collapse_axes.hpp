// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// collapse_axes: a program in which a group of leading axes is one axis, (b, h, w, c) -> (b * h * w, c). A mask of
// several axes then is a mask of rows. If a reshape makes the rows of a selection, the tensor before it has them, too
// (choose_rows.hpp). It collapses
//   elementwise ops of the shape of the group
//   reshapes of a tensor of b * h * w rows to the group
//   what is computed from these, as long as the ops keep the axes together
// A reshape stands between these and other ops. A sum over some axes of the group becomes a scatter_add, which reads rows:
// sum<1, 2>(x)[i] = sum of x[r] over the rows r of image i.
#pragma once
#include "../analysis/graph_rewriter.hpp"

namespace tapeless::detail {

class collapse_axes : graph_rewriter {
  const shape group_;
  const extent_t n_;
  vec<int> uncollapsed_, collapsed_; // each node as it was, and with the group as one axis; or not made yet
  vec<char> together_, masked_;      // it is computed collapsed; its rows are zero where the mask is

  constexpr int end_of(const shape& s) const { return end_of_group(s, group_); }
  // @pre end_of(s) is `end`, or the axes before `end` have extent 1
  constexpr shape collapsed_shape(const shape& s, int end) const {
    shape r{1, {n_}};
    for (int i = end; i < s.rank; ++i) r.d[r.rank++] = s.d[i];
    return r;
  }
  constexpr bool is_together(int x) const { return x >= 0 && together_[x] != 0; }
  constexpr int uncollapsed(int i) {
    if (uncollapsed_[i] < 0) uncollapsed_[i] = reshape(g_, collapsed_[i], at(i).s);
    return uncollapsed_[i];
  }
  // x with only its last `rest` axes; the others have extent 1.
  constexpr int without_leading(int x, int rest) {
    const shape s = g_[x].s;
    if (s.rank <= rest) return x;
    shape to;
    for (int i = s.rank - rest; i < s.rank; ++i) to.d[to.rank++] = s.d[i];
    return g_[x].o == op::iota ? iota(g_, to) : reshape(g_, x, to);
  }
  // @pre end_of(at(i).s) >= 0
  constexpr int collapsed(int i) {
    if (collapsed_[i] >= 0) return collapsed_[i];
    const node& v = at(i);
    const int end = end_of(v.s);
    const shape to = collapsed_shape(v.s, end);
    if (v.o == op::expand && repeats_group(at(v.in[0]).s, v.s, end))
      return collapsed_[i] = expand(g_, without_leading(uncollapsed(v.in[0]), v.s.rank - end), to);
    return collapsed_[i] = reshape(g_, uncollapsed(i), to);
  }
  // Is an operand of shape s repeated along the whole group of a result of shape `of`?
  static constexpr bool repeats_group(const shape& s, const shape& of, int end) {
    for (int i = 0; i < s.rank - (of.rank - end); ++i)
      if (s.d[i] != 1) return false;
    return true;
  }
  // Operand x of an elementwise op whose result has the shape `of`, collapsed.
  constexpr int operand(int x, const shape& of, int end) {
    const shape s = at(x).s;
    const int rest = of.rank - end;
    if (repeats_group(s, of, end)) return without_leading(uncollapsed(x), rest);
    shape full = of;
    bool whole = true;
    for (int i = 0; i < of.rank; ++i) {
      const int k = i - (of.rank - s.rank);
      const extent_t e = k < 0 ? 1 : s.d[k];
      if (i < end) whole = whole && e == of.d[i];
      else full.d[i] = e;
    }
    if (whole) return collapsed(x);
    return reshape(g_, expand(g_, uncollapsed(x), full),
                   collapsed_shape(full, end)); // repeated along a part of the group
  }

  // Bits of axes from `end` on, as axes of a collapsed shape. The group is its axis 0.
  static constexpr unsigned shifted(unsigned axes, int end) { return axes >> end << 1; }
  constexpr bool reduced(int i) {
    node v = at(i);
    const shape s = at(v.in[0]).s;
    const int end = end_of(s);
    const auto axes = static_cast<unsigned>(v.attr);
    unsigned of_group = 0;
    for (int k = 0; k < end; ++k)
      if (s.d[k] != 1) of_group |= 1u << k;
    const bool whole = (axes & of_group) == of_group;
    if (!whole && (axes & of_group) != 0) return masked_[v.in[0]] != 0 && summed_in_parts(i, axes);
    const int x = collapsed(v.in[0]);
    v.attr = shifted(axes, end) | (whole ? 1u : 0u);
    const int r = remade(v, {x, no_node, no_node}, keepdims(g_[x].s, static_cast<unsigned>(v.attr)));
    if (whole) uncollapsed_[i] = reshape(g_, r, at(i).s);
    else collapsed_[i] = r;
    return true;
  }
  // A sum over some axes of the group: each row is added at the position along the other axes.
  constexpr bool summed_in_parts(int i, unsigned axes) {
    const node& v = at(i);
    if (v.o != op::sum) return false;
    const shape s = at(v.in[0]).s;
    const int end = end_of(s);
    shape all, kept;
    for (int k = 0; k < end; ++k) {
      all.d[all.rank++] = s.d[k];
      kept.d[kept.rank++] = ((axes >> k) & 1u) != 0 ? 1 : s.d[k];
    }
    if (coefficient(numel(kept)) > most_selected) return false;
    const int place = reshape(g_, expand(g_, iota(g_, kept), all), shape{1, {n_}});
    const int x = sum(g_, collapsed(v.in[0]), shifted(axes, end));
    shape to = g_[x].s;
    to.d[0] = numel(kept);
    uncollapsed_[i] = reshape(g_, scatter_add(g_, x, place, 0, to), v.s);
    return true;
  }
  // An op that makes each row of the group of the same row of its operands. Its attribute names axes after the group.
  constexpr bool row_by_row(int i) {
    node v = at(i);
    const int end = end_of(v.s);
    const operand_shapes s(p_, v);
    bool has_group[3] = {end >= 0, end >= 0 && v.in[1] >= 0, end >= 0 && v.in[2] >= 0};
    for (int a = 0; a < end; ++a) {
      const rows_of_operands r = where_rows_come_from(v, s, {a, 1}, v.s.d[a]);
      for (int k = 0; k < 3; ++k) has_group[k] = has_group[k] && r.operand[k].equals({a, 1});
    }
    if (!has_group[0] || is_heavy(v.o)) return false;
    v.attr = renumbered(v.attr, rule(v.o).facts.attr.names, v.s.rank,
                        [&](int a) { return a < end ? 0 : a - end + 1; });
    int in[3] = {no_node, no_node, no_node};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) in[k] = has_group[k] ? collapsed(v.in[k]) : uncollapsed(v.in[k]);
    collapsed_[i] = remade(v, in, collapsed_shape(v.s, end));
    return true;
  }
  constexpr bool elementwise(int i) {
    const node& v = at(i);
    const int end = end_of(v.s);
    if (end < 0 || (v.o == op::copy && v.attr != 0)) return false;
    int in[3] = {no_node, no_node, no_node};
    for (int k = 0; k < 3; ++k) {
      if (v.in[k] < 0) continue;
      if (is_custom(v.o) && !(at(v.in[k]).s == v.s)) return false;
      in[k] = operand(v.in[k], v.s, end);
    }
    collapsed_[i] = remade(v, in, collapsed_shape(v.s, end));
    return true;
  }
  constexpr bool has_flat_rows(const shape& s) const {
    const shape q = squeezed(s);
    return q.rank > 0 && q.d[0] == n_;
  }

  constexpr bool is_masked(int i) const {
    const node& v = at(i);
    bool zero[3] = {false, false, false};
    for (int k = 0; k < 3; ++k) zero[k] = v.in[k] >= 0 && masked_[v.in[k]] != 0;
    const auto is_known_zero = [&](int k) {
      const int x = uncollapsed_[v.in[k]];
      return x >= 0 && is_zero(g_, x);
    };
    return (together_[i] != 0 || has_flat_rows(v.s)) && zero_outside(v, zero, is_known_zero);
  }
  // Makes node i collapsed, or from collapsed operands. @return false if it cannot be
  constexpr bool collapse(int i) {
    const node& v = at(i);
    const int end = end_of(v.s);
    if (rule(v.o).k == kind::elementwise) {
      bool any = end >= 0 && squeezed(v.s) == group_;
      for (const int x : v.in) any = any || is_together(x);
      return any && elementwise(i);
    }
    if (v.o == op::reshape && end >= 0 && (is_together(v.in[0]) || has_flat_rows(at(v.in[0]).s))) {
      collapsed_[i] = reshape(g_, is_together(v.in[0]) ? collapsed(v.in[0]) : uncollapsed(v.in[0]),
                              collapsed_shape(v.s, end));
      return true;
    }
    if (v.o == op::gather && v.attr == 0 && end >= 0 && is_together(v.in[1])) { // rows of a table
      collapsed_[i] = gather(g_, uncollapsed(v.in[0]), collapsed(v.in[1]), 0);
      return true;
    }
    if (!is_together(v.in[0])) return false;
    if (rule(v.o).facts.attr.names == attr_names::axes) return reduced(i);
    if (v.o == op::expand) {
      if (end < 0 || end_of(at(v.in[0]).s) != end - (v.s.rank - at(v.in[0]).s.rank)) return false;
      collapsed_[i] = expand(g_, collapsed(v.in[0]), collapsed_shape(v.s, end));
      return true;
    }
    if (v.o == op::scatter_add) { // the gradient of a table
      if (v.attr != 0 || v.in[2] >= 0 || end_of(at(v.in[1]).s) != end_of(at(v.in[0]).s)) return false;
      uncollapsed_[i] = scatter_add(g_, collapsed(v.in[0]), collapsed(v.in[1]), 0, v.s);
      return true;
    }
    return row_by_row(i);
  }

public:
  // group: at least two extents, none of which is 1
  constexpr collapse_axes(const raw_program& p, const shape& group)
      : graph_rewriter(p),
        group_(group),
        n_(numel(group)),
        uncollapsed_(p.nodes.size(), no_node),
        collapsed_(p.nodes.size(), no_node),
        together_(p.nodes.size(), 0),
        masked_(p.nodes.size(), 0) {}

  // masks: nodes of the extents of the group or of one row for each of its elements
  constexpr raw_program run(const vec<int>& masks) {
    for (int i = 0; i < p_.nodes.size(); ++i) {
      const node& v = at(i);
      g_.in_adjoint = v.adjoint;
      if (rule(v.o).k == kind::leaf) uncollapsed_[i] = leaf(v);
      else if (!collapse(i)) {
        int in[3] = {no_node, no_node, no_node};
        for (int k = 0; k < 3; ++k)
          if (v.in[k] >= 0) in[k] = uncollapsed(v.in[k]);
        uncollapsed_[i] = remade(v, in, v.s);
      }
      together_[i] = collapsed_[i] >= 0 ? 1 : 0;
      masked_[i] = is_masked(i) ? 1 : 0;
      if (masks.contains(i)) masked_[i] = 1;
    }
    vec<int> outputs;
    for (const int o : p_.outputs) {
      g_.in_adjoint = at(o).adjoint;
      outputs.push_back(uncollapsed(o));
    }
    return finished(outputs);
  }
};

} // namespace tapeless::detail
