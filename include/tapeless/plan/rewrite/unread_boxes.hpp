// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// If an operand is zero outside of one slice, as pad(d) is, its readers are computed within that slice, the box:
//   pad(d) * f  ->  pad(d * slice(f))      a^T pad(d)  ->  slice(a)^T d      pad(d) b  ->  pad(d b)
#pragma once
#include "../analysis/unread_moves.hpp" // IWYU pragma: export

namespace tapeless::detail {

class unread_boxes : protected unread_moves {
protected:
  using unread_moves::unread_moves;

  // where(all parts, x, 0)
  constexpr int guarded(int x, const parts& l) {
    const int m = all_of(l);
    if (m < 0) return x; // others imply all of l: a box around x, or zeros of the other operand
    return expand(g_, where(g_, m, x, g_.constant(0, g_[x].t)), g_[x].s);
  }

  // A node that is pad(inner): zero but for the elements [lo, lo + extent) of an axis of extent n.
  struct box {
    int inner = no_node;
    int axis = no_node;
    extent_t n = 0, lo = 0, extent = 0;
    constexpr bool found() const { return inner >= 0; }
    constexpr bool equals(const box& b) const {
      return axis == b.axis && n == b.n && lo == b.lo && extent == b.extent;
    }
  };
  constexpr box box_of(int x) const {
    if (dry_ || x < 0 || made_[x] < 0 || of_[x].empty()) return {};
    const node& v = g_[made_[x]];
    if (v.o != op::pad) return {};
    const int axis = static_cast<int>(v.attr);
    return {v.in[0], axis, v.s.d[axis], static_cast<extent_t>(v.attr2), g_[v.in[0]].s.d[axis]};
  }
  // Elements [lo, lo + extent) of x along an axis. An elementwise op of the adjoint is made again from such elements of
  // its operands, up to this depth.
  constexpr int elements(int x, int axis, extent_t lo, extent_t extent, int depth = 3) {
    const node v = g_[x];
    if (axis < 0 || v.s.d[axis] == 1) return x;
    shape s = v.s;
    s.d[axis] = extent;
    const auto operand = [&](int k) {
      return elements(v.in[k], axis - (v.s.rank - g_[v.in[k]].s.rank), lo, extent, depth - 1);
    };
    if (v.o == op::expand) return expand(g_, operand(0), s);
    if (rule(v.o).k == kind::elementwise && v.adjoint && depth > 0 && !is_custom(v.o) && v.o != op::copy) {
      int in[3] = {no_node, no_node, no_node};
      for (int k = 0; k < 3; ++k)
        if (v.in[k] >= 0) in[k] = operand(k);
      return remade(v, in, s);
    }
    return slice(g_, x, axis, lo, extent);
  }
  // The axis of the other operand that node i sums with this axis of operand k; no_node: it does not sum over this one.
  constexpr int summed_axis(int i, int k, int axis) const {
    const node& v = at(i);
    if (v.o != op::matmul) return axis == 0 ? 0 : no_node; // images
    if (axis != axes_of(v, k, at(v.in[k]).s.rank).inner) return no_node;
    return axes_of(v, 1 - k, at(v.in[1 - k]).s.rank).inner;
  }
  static constexpr bool varies_along_this_alone(const part& p, int axis) {
    for (int a = 0; a < p.s.rank; ++a)
      if (varies(p, a) != (a == axis)) return false;
    return true;
  }
  // All parts but the one that says the same as the box. The box is along this axis.
  constexpr parts rest_of(const parts& l, const box& b, int axis) {
    const int m = range(b.n, b.lo, b.lo + b.extent);
    parts r;
    for (const part& p : l) {
      int x = p.mask;
      while (g_[x].o == op::reshape) x = g_[x].in[0];
      if (x != m || !varies_along_this_alone(p, axis)) r.push_back(p);
    }
    return r;
  }
  // Is the only part in the list the condition of where(c, x, 0), which is `inner`?
  constexpr bool has_condition(int inner, const parts& l) const {
    if (g_[inner].o != op::where || !is_zero(g_, g_[inner].in[2]) || l.size() != 1) return false;
    int m = l[0].mask, c = g_[inner].in[0];
    if (g_[m].o == op::pad) m = g_[m].in[0];
    for (int* x : {&m, &c})
      while (g_[*x].o == op::reshape || g_[*x].o == op::copy) *x = g_[*x].in[0];
    return m == c;
  }
  // Node i computed in the box of operand k and padded with zeros, or no_node. l: parts that the result is to have.
  constexpr int padded(int i, int k, const int (&in)[3], const parts& l) {
    const node& v = at(i);
    box b = box_of(v.in[k]);
    const operand_shapes s(p_, v);
    if (!b.found() || b.n == 1) return no_node;
    row_axis to = where_rows_go(v, s, k, {b.axis, 1}, b.n);
    for (int a = 0; v.o == op::reshape && !to.found() && a < v.s.rank; ++a) { // the axis is split in two
      const extent_t block = v.s.d[a] > 1 ? quotient(b.n, v.s.d[a]) : 0;
      if (block < 1 || b.lo % block != 0 || b.extent % block != 0) continue;
      to = where_rows_go(v, s, k, {b.axis, block}, v.s.d[a]);
      if (to.found()) b = {b.inner, b.axis, v.s.d[a], b.lo / block, b.extent / block};
    }
    if (!to.found() || !is_static(to.block)) return no_node;
    const rows_of_operands r = where_rows_come_from(v, s, to, b.n);
    bool zero[3] = {false, false, false};
    for (int j = 0; j < 3; ++j)
      if (const box other = box_of(v.in[j]); other.found())
        zero[j] = j == k || (other.equals(b) && r.operand[j].axis == b.axis && r.operand[j].block == 1);
    if (!zero_outside(v, zero, [&](int j) { return is_zero(p_.nodes, v.in[j]); })) return no_node;
    int part_of[3] = {no_node, no_node, no_node};
    for (int j = 0; j < 3; ++j) {
      if (v.in[j] < 0) continue;
      const row_axis& a = r.operand[j];
      if (!is_static(a.block)) return no_node;
      part_of[j] = zero[j]      ? box_of(v.in[j]).inner
                   : !a.found() ? in[j]
                                : elements(in[j], a.axis, b.lo * a.block, b.extent * a.block);
    }
    const int inner =
        expand(g_, remade(v, part_of, with_rows(v.s, to, b.extent)), with_rows(v.s, to, b.extent));
    const int y = pad(g_, inner, to.axis, b.lo * to.block, (b.n - b.lo - b.extent) * to.block);
    const parts rest = rest_of(l, b, to.axis);
    return rest.empty() || has_condition(inner, rest) ? y : guarded(y, rest);
  }
  // A product that sums over the axis of operand k's box sums over the box alone. no_node: there is no such box.
  constexpr int summed_in_box(int i, int k, int (&in)[3]) {
    const node& v = at(i);
    const box b = box_of(v.in[k]);
    const operand_shapes s(p_, v);
    if (!b.found() || b.n == 1) return no_node;
    const row_sum q = where_rows_are_summed(v, s, k, {b.axis, 1});
    if (!q.found || q.other < 0 || q.axis.block != 1) return no_node;
    int of_box[3] = {no_node, no_node, no_node};
    of_box[k] = dense(g_, b.inner);
    of_box[1 - k] = dense(g_, elements(in[1 - k], q.axis.axis, b.lo, b.extent));
    return remade(v, of_box, v.s);
  }
};

} // namespace tapeless::detail
