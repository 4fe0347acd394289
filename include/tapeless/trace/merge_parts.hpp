// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Merges a layer that is written in parts into one layer:
//   conv(x[:, :c], w[:, :c]) + conv(x[:, c:], w[:, c:])   = conv(x, w)     the same for matmul along its inner axis
//   concat(conv(x, w[:k]), conv(x, w[k:]))                = conv(x, w)     the same for rows and columns of matmul
// for any number of parts, also of unequal size and with elementwise ops between product and concatenation. Parts of x
// are slices of one tensor. So are parts of w; otherwise a copy joins them, if each of their elements is used often.
// Sums are added in another order. A part that something else also reads is not merged. This pass runs before a program
// is differentiated, so that its adjoint is that of the whole layer.
#pragma once
#include <utility>
#include "../ops/all.hpp"

namespace tapeless::detail {

constexpr bool can_be_a_part(op o) { return o == op::matmul || o == op::conv_fprop; }
// The tensor that a is a part, a view or a copy of.
constexpr int origin(const graph& g, int a) {
  while (g[a].o == op::copy || g[a].o == op::reshape || g[a].o == op::slice || g[a].o == op::transpose)
    a = g[a].in[0];
  return a;
}

class part_merger {
  graph& g_;
  vec<int> uses_;    // by node; newer nodes have one
  int products_ = 0; // merged in the current attempt

  constexpr int uses(int a) const { return a < uses_.size() ? uses_[a] : 1; }
  constexpr bool are_parts(int a, int b) const {
    const node &u = g_[a], &v = g_[b];
    return can_be_a_part(u.o) && u.o == v.o && u.attr == v.attr && u.attr2 == v.attr2 && u.t == v.t &&
           u.s.rank == v.s.rank && uses(a) == 1 && uses(b) == 1;
  }
  // Does the product with result v use each element of its weights often enough to pay for a copy?
  static constexpr bool reuses_weights(const node& v) {
    extent_t n = 1;
    for (int i = 0; i < v.s.rank; ++i)
      if (i != (v.o == op::matmul ? v.s.rank - 1 : 1)) n *= coefficient(v.s.d[i]);
    return n >= 16;
  }
  static constexpr int inner_axis_of(const node& v, const shape& s, int k) {
    const bool transposed = (v.attr & (k == 0 ? 1u : 2u)) != 0;
    return s.rank - ((k == 0) != transposed ? 1 : 2);
  }
  constexpr int whole(const node& v, int a, int b, const shape& s) {
    ++products_;
    if (v.o == op::matmul) return matmul(g_, a, b, (v.attr & 1u) != 0, (v.attr & 2u) != 0);
    return conv_node(g_, op::conv_fprop, a, b, v.attr, v.attr2, s);
  }
  static constexpr shape joined_shape(const node& u, const node& v, int axis) {
    return with_extent(u.s, axis, u.s.d[axis] + v.s.d[axis]);
  }

  // concat(a, b) without a copy, or, if `copies`, with a copy of small tensors only; no_node: impossible.
  constexpr int joined(int a, int b, int axis, bool copies) {
    const node u = g_[a], v = g_[b];
    if (u.t != v.t || !concatenable(u.s, v.s, axis)) return no_node;
    const int before = products_;
    int c = u.o == v.o ? joined_alike(a, b, u, v, axis, copies) : no_node;
    if (products_ != before && (uses(a) > 1 || uses(b) > 1)) c = no_node; // the parts would still be computed
    return c == no_node && copies ? concat(g_, a, b, axis) : c;
  }
  constexpr int joined_alike(int a, int b, const node& u, const node& v, int axis, bool copies) {
    if (u.o == op::slice) {
      if (u.attr != v.attr) return no_node;
      const int along = static_cast<int>(u.attr);
      const auto begin = static_cast<extent_t>(u.attr2), next = static_cast<extent_t>(v.attr2);
      if (along == axis)
        return u.in[0] == v.in[0] && begin + u.s.d[axis] == next
                   ? slice(g_, u.in[0], axis, begin, u.s.d[axis] + v.s.d[axis])
                   : no_node;
      if (begin != next || !(g_[u.in[0]].s.d[along] == g_[v.in[0]].s.d[along])) return no_node;
      const int c = joined(u.in[0], v.in[0], axis, copies);
      return c == no_node ? c : slice(g_, c, along, begin, u.s.d[along]);
    }
    if (u.o == op::copy && u.attr == v.attr) return joined(u.in[0], v.in[0], axis, copies);
    if (u.o == op::transpose && u.attr == v.attr) {
      const int c = joined(u.in[0], v.in[0], perm_axis(u.attr, axis), copies);
      return c == no_node ? c : transpose(g_, c, u.attr);
    }
    if (u.o == op::reshape) return joined_reshapes(u, v, axis, copies);
    if (u.o == op::expand) return joined_expands(u, v, axis);
    if (rule(u.o).k == kind::elementwise) return joined_elementwise(u, v, axis);
    return are_parts(a, b) ? joined_products(u, v, axis) : no_node;
  }
  // Is axis `to` of y axis `from` of x, with as many elements outside it and inside it?
  static constexpr bool same_axis(const shape& x, int from, const shape& y, int to) {
    shape outer_x = x, outer_y = y;
    outer_x.rank = from;
    outer_y.rank = to;
    return x.d[from] == y.d[to] && numel(outer_x) == numel(outer_y) && numel(x) == numel(y);
  }
  constexpr int joined_reshapes(const node& u, const node& v, int axis, bool copies) {
    const shape x = g_[u.in[0]].s, y = g_[v.in[0]].s;
    for (int at = 0; at < x.rank; ++at)
      if (at < y.rank && same_axis(x, at, u.s, axis) && same_axis(y, at, v.s, axis)) {
        const int c = joined(u.in[0], v.in[0], at, copies);
        return c == no_node ? c : reshape(g_, c, joined_shape(u, v, axis));
      }
    return no_node;
  }
  // Joins operands of elementwise ops or of expand, which may be broadcast along the axis and are small then.
  constexpr int joined_operands(int x, int y, const node& u, const node& v, int axis) {
    const int at = axis - (u.s.rank - g_[x].s.rank);
    const bool smaller = !(g_[x].s == u.s);
    if (x == y && (at < 0 || g_[x].s.d[at] == 1)) return x;
    if (at < 0 || g_[x].s.rank != g_[y].s.rank || g_[x].s.d[at] != u.s.d[axis] ||
        g_[y].s.d[at] != v.s.d[axis])
      return no_node;
    return joined(x, y, at, smaller);
  }
  constexpr int joined_expands(const node& u, const node& v, int axis) {
    const int c = joined_operands(u.in[0], v.in[0], u, v, axis);
    return c == no_node ? c : expand(g_, c, joined_shape(u, v, axis));
  }
  constexpr int joined_elementwise(const node& u, const node& v, int axis) {
    if (u.attr != v.attr || u.attr2 != v.attr2 || (is_custom(u.o) && u.custom != v.custom)) return no_node;
    for (const bool crossed : {false, true}) {
      if (crossed && !commutes(u.o)) break;
      node w = u;
      w.s = joined_shape(u, v, axis);
      bool all = true;
      for (int k = 0; k < 3 && all; ++k)
        if (u.in[k] >= 0) {
          w.in[k] = joined_operands(u.in[k], v.in[crossed ? 1 - k : k], u, v, axis);
          all = w.in[k] != no_node;
        }
      if (!all) continue;
      if (const int first = w.in[0]; commutes(w.o) && first > w.in[1]) {
        w.in[0] = w.in[1];
        w.in[1] = first;
      }
      return g_.intern(w);
    }
    return no_node;
  }
  // Joins products whose results are next to each other along the axis.
  constexpr int joined_products(const node& u, const node& v, int axis) {
    const shape s = joined_shape(u, v, axis), x = g_[u.in[0]].s, w = g_[u.in[1]].s;
    if (u.o == op::matmul) {
      if (axis < u.s.rank - 2) return no_node;
      const bool columns = axis == u.s.rank - 1;
      const int same = columns ? 0 : 1, other = 1 - same;
      if (u.in[same] != v.in[same]) return no_node;
      const shape& of = columns ? w : x;
      const int outer = 2 * of.rank - 3 - inner_axis_of(u, of, other);
      const int c = joined(u.in[other], v.in[other], outer, columns && reuses_weights(u));
      return c == no_node ? c : columns ? whole(u, u.in[0], c, s) : whole(u, c, u.in[1], s);
    }
    if (axis == 1 && u.in[0] == v.in[0] && groups_of(u.attr2) == 1) {
      const int c = joined(u.in[1], v.in[1], 0, reuses_weights(u));
      return c == no_node ? c : whole(u, u.in[0], c, s);
    }
    if (axis == 0 && u.in[1] == v.in[1]) {
      const int c = joined(u.in[0], v.in[0], 0, false);
      return c == no_node ? c : whole(u, c, u.in[1], s);
    }
    return no_node;
  }
  // a + b as one product; no_node: impossible.
  constexpr int summed(int a, int b) {
    if ((g_[a].o == op::transpose || g_[a].o == op::reshape) && g_[a].o == g_[b].o && uses(a) == 1 &&
        uses(b) == 1) {
      const node u = g_[a], v = g_[b]; // views of products
      if (u.attr != v.attr || !(u.s == v.s) || !(g_[u.in[0]].s == g_[v.in[0]].s)) return no_node;
      const int c = summed(u.in[0], v.in[0]);
      return c == no_node ? c : u.o == op::transpose ? transpose(g_, c, u.attr) : reshape(g_, c, u.s);
    }
    if (!are_parts(a, b) || !(g_[a].s == g_[b].s)) return no_node;
    const node u = g_[a], v = g_[b];
    if (u.o == op::conv_fprop && groups_of(u.attr2) != 1) return no_node;
    const int from = u.o == op::matmul ? inner_axis_of(u, g_[u.in[0]].s, 0) : 1;
    const int to = u.o == op::matmul ? inner_axis_of(u, g_[u.in[1]].s, 1) : 1;
    const int x = joined(u.in[0], v.in[0], from, false);
    if (x == no_node) return x;
    const int w = joined(u.in[1], v.in[1], to, reuses_weights(u));
    return w == no_node ? w : whole(u, x, w, u.s);
  }

  // Collects the terms of a sum, or the parts of a concatenation along one axis, through nodes that nothing else reads.
  constexpr void leaves_of(const node& top, int a, vec<int>& leaves) const {
    for (const int k : {g_[a].in[0], g_[a].in[1]})
      if (g_[k].o == top.o && uses(k) == 1 && g_[k].attr == top.attr &&
          (top.o == op::concat || g_[k].s == top.s))
        leaves_of(top, k, leaves);
      else leaves.push_back(k);
  }
  // Merges entries i and j where it can, into one entry.   @return was any merged?
  constexpr bool merge_entries(vec<int>& entries, bool sum, int axis) {
    bool any = false;
    for (int i = 0; i < entries.size(); ++i)
      for (int j = sum ? 0 : i + 1; j < entries.size() && (sum || j == i + 1); ++j) {
        if (i == j || entries[i] == no_node || entries[j] == no_node) continue;
        products_ = 0;
        const int c = sum ? summed(entries[i], entries[j]) : joined(entries[i], entries[j], axis, false);
        if (c == no_node || products_ == 0) continue;
        any = true;
        const int at = i < j ? i : j;
        entries[at] = c;
        vec<int> rest;
        for (int k = 0; k < entries.size(); ++k)
          if (k != i + j - at) rest.push_back(entries[k]);
        entries = rest;
        i = -1; // start again
        break;
      }
    return any;
  }
  // Node a replaces node b.
  constexpr int counted_as(int a, int b) {
    while (uses_.size() <= a) uses_.push_back(1);
    uses_[a] = uses_[a] > uses_[b] ? uses_[a] : uses_[b];
    return a;
  }
  constexpr int merged(int i) {
    const node top = g_[i];
    vec<int> entries;
    leaves_of(top, i, entries);
    const bool sum = top.o == op::add;
    const int axis = static_cast<int>(top.attr);
    if (!merge_entries(entries, sum, axis)) return no_node;
    int c = entries[0];
    for (int k = 1; k < entries.size(); ++k)
      c = sum ? binary(g_, op::add, c, entries[k]) : concat(g_, c, entries[k], axis);
    return c;
  }

public:
  constexpr explicit part_merger(graph& g) : g_(g) {}

  constexpr void operator()(vec<int>& roots) {
    const int size = g_.size();
    uses_ = vec<int>(size, 0);
    vec<char> inner(size, 0); // its reader is a larger sum or concatenation
    for (const int i : roots) uses_[i] += 1;
    for (int i = size - 1; i >= 0; --i) {
      if (uses_[i] == 0) continue;
      const node& v = g_[i];
      for (const int k : v.in)
        if (k >= 0) {
          const node& w = g_[k];
          ++uses_[k];
          inner[k] = v.o == w.o && v.attr == w.attr && (v.o == op::concat || v.s == w.s);
        }
    }
    vec<int> now(size, no_node);
    for (int i = 0; i < size; ++i) {
      if (uses_[i] == 0) continue;
      node v = g_[i];
      bool changed = false;
      for (int& k : v.in)
        if (k >= 0 && now[k] >= 0) {
          k = now[k];
          changed = true;
        }
      const bool outer = g_.in_adjoint;
      g_.in_adjoint = v.adjoint;
      if (changed) {
        if (rule(v.o).k == kind::kernel || v.o == op::reshape)
          for (int& k : v.in)
            if (k >= 0) k = dense(g_, k);
        now[i] = counted_as(g_.intern(v), i);
      }
      if ((v.o == op::add || v.o == op::concat) && !(inner[i] != 0 && uses_[i] == 1))
        if (const int c = merged(now[i] < 0 ? i : now[i]); c != no_node) now[i] = counted_as(c, i);
      g_.in_adjoint = outer;
    }
    for (int& i : roots)
      if (now[i] >= 0) i = now[i];
  }
};

// Do two products that the roots need read the same tensor, or parts of it?
constexpr bool may_have_parts(const graph& g, const vec<int>& roots) {
  vec<char> marks(g.size(), 0), read(g.size(), 0);
  char* const needed = marks.begin();
  for (const int i : roots) needed[i] = 1;
  bool joins = false, shared = false;
  for (int i = g.size() - 1; i >= 0; --i) {
    if (needed[i] == 0) continue;
    const node& v = g[i];
    for (const int k : v.in)
      if (k >= 0) needed[k] = 1;
    joins = joins || v.o == op::add || v.o == op::concat;
    if (can_be_a_part(v.o))
      for (int k = 0; k < 2; ++k) {
        char& seen = read[origin(g, v.in[k])];
        shared = shared || seen != 0;
        seen = 1;
      }
  }
  return joins && shared;
}

// Merges the parts of layers that `roots` need.   @return have the roots changed?
constexpr bool merge_parts(graph& g, vec<int>& roots) {
  if (!g.sound() || !may_have_parts(g, roots)) return false;
  vec<int> before = roots;
  part_merger{g}(roots);
  for (int k = 0; k < roots.size(); ++k)
    if (roots[k] != before[k]) return true;
  return false;
}

} // namespace tapeless::detail
