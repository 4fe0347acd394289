// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// graph_rewriter: the base of rewriters that make a program again in a new graph. It reads rows of a list from a
// tensor, puts them back among all rows, and makes a node again of other operands.
#pragma once
#include "../../expr/program.hpp" // IWYU pragma: export
#include "../../ops/all.hpp"      // IWYU pragma: export
#include "../../trace/compact.hpp"
#include "densify.hpp" // IWYU pragma: export
#include "op_axes.hpp" // IWYU pragma: export

namespace tapeless::detail {

// A list of positions along an axis of extent n.
struct row_list {
  int id = no_node; // the list in the new graph
  extent_t n = 0, count = 0;
  bool distinct = true; // no position occurs twice
  int mask = no_node;   // the mask of n rows that it lists, or none
  unsigned masks = 0;   // bit k: it has the rows that mask k keeps
  // Does it have all rows of o?
  constexpr bool holds(const row_list& o) const {
    return o.id == id || (o.mask >= 0 && mask >= 0 && (o.masks & ~masks) == 0);
  }
};

// How many of the first generated names are the lengths of lists in this program.
constexpr int generated_name_count(const raw_program& p) {
  int n = 0;
  for (const node& v : p.nodes)
    if (v.o == op::select && has_generated_name(v.s.d[0]))
      if (const auto k = static_cast<int>(names(v.s.d[0]) - first_generated); k >= n) n = k + 1;
  return n;
}

class graph_rewriter {
protected:
  const raw_program& p_;
  graph g_;

  constexpr explicit graph_rewriter(const raw_program& p) : p_(p) {}
  constexpr int size() const { return p_.nodes.size(); }
  constexpr const node& at(int i) const {
    using list = block_list<node>;
    return p_.nodes.block_[i >> list::shift]->element[i & (list::length - 1)];
  }

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
    g_.nodes[id].is_loss_weight = v.is_loss_weight;
    return id;
  }
  // v as it is, with other operands.
  constexpr int again(const node& v, const int (&in)[3], const shape& s) {
    int operand[3] = {in[0], in[1], in[2]};
    if (rule(v.o).k == kind::kernel)
      for (int& x : operand)
        if (x >= 0) x = dense(g_, x);
    if (has_data_dependent_rows(v)) g_.learn_count(v.s.d[0]);
    return renewed(v, operand, s);
  }

  // (before.., n * block, after..) -> (before, n, block * after). Three axes, because (.., n, block, ..) could be
  // seven, and six is the most.
  static constexpr shape split(const shape& s, const row_axis& a, extent_t n) {
    shape r{3, {1, n, a.block}};
    for (int i = 0; i < s.rank; ++i)
      if (i != a.axis) {
        extent_t& e = r.d[i < a.axis ? 0 : 2];
        e = times(e, s.d[i]);
      }
    return r;
  }
  // x[list] along the axis. For a list S[T] it is x[S][T]: what is computed from rows S then serves T, too.
  constexpr int taken(int x, int list, int axis) {
    const node v = g_[list], of = g_[x];
    if (v.o == op::select && of.o == op::scatter_add && of.in[1] == list && of.in[2] < 0 &&
        static_cast<int>(of.attr) == axis)
      return of.in[0]; // rows S of scatter(d, S)
    const bool nested = v.o == op::gather && g_[v.in[0]].s.rank == 1 && g_[v.in[1]].s.rank == 1 &&
                        lists_rows(g_[v.in[0]], g_[x].s.d[axis]) &&
                        lists_rows(g_[v.in[1]], g_[v.in[0]].s.d[0]);
    return nested ? gather(g_, taken(x, v.in[0], axis), v.in[1], axis) : gather(g_, x, list, axis);
  }
  // Rows of a node of the new graph, read through its views.
  constexpr int gathered(int x, const row_list& list, const row_axis& a) {
    if (!a.found()) return x;
    const node v = g_[x];
    const shape s = with_rows(v.s, a, list.count);
    if (v.o == op::copy && v.attr == 0) return gathered(v.in[0], list, a);
    if (rule(v.o).k == kind::view && v.o != op::slice) {
      const shape inner[3] = {g_[v.in[0]].s};
      const operand_rows of = rule(v.o).facts.axes(v, inner, 0, a, list.n);
      if (of.repeated || of.axis.found())
        return remade(v, {of.repeated ? v.in[0] : gathered(v.in[0], list, of.axis), no_node, no_node}, s);
    }
    if (v.o == op::reshape && v.s.rank > 1 &&
        squeezed(v.s) == shape{1, {list.n}}) // a vector with axes of extent 1
      return reshape(g_, taken(reshape(g_, x, shape{1, {list.n}}), list.id, 0), s);
    if (a.block == 1) return taken(x, list.id, a.axis);
    return reshape(g_, taken(reshape(g_, x, split(v.s, a, list.n)), list.id, 1), s);
  }
  // All rows, from those of the list: the others are zero, or the list's are added to the base.
  constexpr int scattered(int compact, const row_list& list, const row_axis& a, const shape& s,
                          int base = no_node) {
    if (a.block == 1) return scatter_add(g_, compact, list.id, a.axis, s, base);
    const int rows = reshape(g_, compact, split(g_[compact].s, a, list.count));
    const shape to = split(s, a, list.n);
    return reshape(g_, scatter_add(g_, rows, list.id, 1, to, base < 0 ? base : reshape(g_, base, to)), s);
  }
  // The condition that a mask is not 0.
  constexpr int nonzero(int mask) {
    return g_[mask].t == dtype::boolean ? mask : binary(g_, op::ne, mask, zeros(g_, g_[mask].t, g_[mask].s));
  }
  // v with other operands, with which its result has the shape s. It is simplified like an op of the user.
  constexpr int remade(const node& v, const int (&in)[3], const shape& s) {
    if (rule(v.o).k == kind::elementwise && v.o != op::copy && !is_custom(v.o)) {
      const int r = v.o == op::where ? where(g_, in[0], in[1], in[2])
                    : v.in[1] >= 0   ? binary(g_, v.o, in[0], in[1])
                                     : unary(g_, v.o, in[0], v.t);
      return expand(g_, r, s);
    }
    const make_rule& make = rule(v.o).facts.make;
    return make.simplifies ? make.call(g_, v, in, s) : again(v, in, s);
  }
  // Is node i this vector, or a reshape of the same node?
  constexpr bool is_reshape_of(int i, int vector) const {
    const node &v = at(i), &m = at(vector);
    if (i == vector || v.o != op::reshape || m.o != op::reshape || v.in[0] != m.in[0]) return i == vector;
    int rows = 0;
    for (int a = 0; a < v.s.rank; ++a) rows += v.s.d[a] == numel(m.s) ? 1 : 0;
    return rows == 1;
  }
  constexpr raw_program finished(const vec<int>& outputs) {
    raw_program r = compact(g_, outputs);
    r.broken = g_.broken;
    return r;
  }
};

} // namespace tapeless::detail
