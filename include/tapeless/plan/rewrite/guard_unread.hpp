// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What nobody reads passes nothing. A cotangent d is zero by construction outside of a condition, a slice or the rows of a
// list; m is true elsewhere. There it stays zero, whatever it is multiplied by, also by infinity or NaN:
//   d * f     ->  where(m, d * f, 0)
//   a^T d     ->  where(m, a, 0)^T d       rows that are summed over, of products and convolutions
//   d b       ->  where(m, d b, 0)         rows of the result
// Behind a single slice d is pad(d'), and less is computed:
//   pad(d) * f  ->  pad(d * slice(f))      a^T pad(d)  ->  slice(a)^T d      pad(d) b  ->  pad(d b)
// A zero that the user multiplies by is a number like others.
#pragma once
#include "candidates.hpp"
#include "../analysis/graph_rewriter.hpp"

namespace tapeless::detail {

class unread_guarding : row_rewriter {
  // Where a node is not zero by construction: where all its parts are true. A part broadcasts to the node.
  struct part {
    int mask = no_node;   // in the new graph; none in a dry run
    shape s;              // of the mask, with the node's rank
    bool implied = false; // by the others; it has fewer axes than they have
    bool of_relu = false; // see is_of_relu
  };
  using parts = vec<part>;
  static constexpr int most_parts = 6;

  bool dry_; // no node is made
  bool guards_ = false;
  vec<parts> of_;
  vec<char> plain_; // comes of constants and conditions alone
  vec<int> made_;

  // ---- parts ----------------------------------------------------------------------------------------------------

  constexpr void add(parts& l, const part& p) const {
    for (part& q : l)
      if (dry_ ? q.s == p.s : q.mask == p.mask) {
        q.implied = q.implied && p.implied;
        q.of_relu = q.of_relu && p.of_relu;
        return;
      }
    if (l.size() < most_parts || !p.implied) l.push_back(p);
  }
  // Where all parts are true.
  constexpr int all_of(const parts& l) {
    int m = no_node;
    for (const part& p : l)
      if (!p.implied) m = m < 0 ? p.mask : binary(g_, op::logical_and, m, p.mask);
    return m;
  }
  constexpr bool are_opposite(int p, int q) const {
    const node &a = g_[p], &b = g_[q];
    const bool equalities = (a.o == op::eq && b.o == op::ne) || (a.o == op::ne && b.o == op::eq);
    return (a.o == op::logical_not && a.in[0] == q) || (b.o == op::logical_not && b.in[0] == p) ||
           (equalities && a.in[0] == b.in[0] && a.in[1] == b.in[1]);
  }
  // no_node: everywhere
  constexpr int either(int p, int q) {
    if (p == q) return p;
    if (are_opposite(p, q)) return no_node;
    const node a = g_[p], b = g_[q];
    if (a.o == op::logical_and && b.o == op::logical_and)
      for (int k = 0; k < 2; ++k)
        for (int j = 0; j < 2; ++j)
          if (a.in[k] == b.in[j] && are_opposite(a.in[1 - k], b.in[1 - j])) return a.in[k];
    return binary(g_, op::logical_or, p, q);
  }
  static constexpr const part* find(const parts& l, int mask) {
    for (const part& p : l)
      if (p.mask == mask) return &p;
    return nullptr;
  }
  // Of a sum.
  constexpr parts united(const parts& x, const parts& y) {
    parts r;
    if (x.empty() || y.empty()) return r;
    if (dry_) {
      for (const part& p : x)
        for (const part& q : y) add(r, {no_node, broadcast(p.s, q.s), false});
      return r;
    }
    parts only_x, only_y;
    for (const part& p : x)
      if (const part* const q = find(y, p.mask))
        add(r, {p.mask, p.s, p.implied && q->implied, p.of_relu && q->of_relu});
      else only_x.push_back(p);
    for (const part& q : y)
      if (find(x, q.mask) == nullptr) only_y.push_back(q);
    const int a = all_of(only_x), b = all_of(only_y);
    if (a >= 0 && b >= 0) {
      const int m = either(a, b);
      if (m >= 0)
        add(r, {m, broadcast(shape_of_all(only_x), shape_of_all(only_y)), false,
                all_are_of_relu(only_x) && all_are_of_relu(only_y)});
      else r = kept(r, true);
    }
    for (const part& p : only_x)
      for (const part& q : only_y)
        if (p.s == q.s)
          if (const int m = either(p.mask, q.mask); m >= 0) add(r, {m, p.s, true, p.of_relu && q.of_relu});
    return r;
  }
  static constexpr bool all_are_of_relu(const parts& l) {
    for (const part& p : l)
      if (!p.of_relu) return false;
    return true;
  }
  static constexpr shape shape_of_all(const parts& l) {
    shape s;
    for (const part& p : l)
      if (!p.implied) s = broadcast(s, p.s);
    return s;
  }
  // Those that an op keeps: where it drops one that others are implied by, each stands for itself.
  static constexpr parts kept(parts l, bool drops) {
    for (part& p : l) p.implied = p.implied && !drops;
    return l;
  }
  constexpr void add_all(parts& l, const parts& more) const {
    for (const part& p : more) add(l, p);
  }
  // s with leading axes
  static constexpr shape ranked(const shape& s, int rank) {
    shape r;
    r.rank = rank;
    for (int i = 0; i < rank; ++i) r.d[i] = i < rank - s.rank ? 1 : s.d[i - (rank - s.rank)];
    return r;
  }
  constexpr int mask_as(int m, const shape& s) { return dry_ ? m : reshape(g_, m, s); }
  // Is condition x of the old program that of the derivative of relu, or of max or min with 0?
  constexpr bool is_of_relu(int x) const {
    while (rule(at(x).o).k == kind::view) x = at(x).in[0];
    const node& v = at(x);
    const bool compares = v.o == op::gt || v.o == op::ge || v.o == op::le;
    return v.adjoint && compares && (is_zero(p_.nodes, v.in[0]) || is_zero(p_.nodes, v.in[1]));
  }
  // What is true where condition x of the old program is, or is not: the operands of && each for itself.
  constexpr void add_condition(parts& l, int x, int rank, bool holds) {
    const node& v = at(x);
    if (v.o == op::logical_not) return add_condition(l, v.in[0], rank, !holds);
    if (v.o == op::logical_and && holds) {
      add_condition(l, v.in[0], rank, true);
      add_condition(l, v.in[1], rank, true);
      return;
    }
    int m = no_node;
    if (!dry_) m = unexpanded(g_, holds ? made_[x] : negated(g_, unexpanded(g_, made_[x])));
    add(l, {m, ranked(dry_ ? at(unexpanded(v, x)).s : g_[m].s, rank), false, is_of_relu(x)});
  }

  // ---- parts through ops that move elements -----------------------------------------------------------------------

  // Of axes that a reshape makes one, or of one several, the first ones: as many as the part varies along.
  constexpr part reshaped(const part& p, const shape& from, const shape& to) {
    shape narrow, whole,
        r = ranked({}, to.rank); // of the mask, of the mask repeated, and of that as it lies in `to`
    int i = 0, j = 0;
    while (i < from.rank || j < to.rank) {
      const int i0 = i, j0 = j;
      extent_t x = i < from.rank ? from.d[i++] : 1, y = j < to.rank ? to.d[j++] : 1;
      while (!(x == y)) {
        const bool more_to = j < to.rank && (i == from.rank || coefficient(x) > coefficient(y) ||
                                             (coefficient(x) == coefficient(y) && degree(x) > degree(y)));
        if (!more_to && i == from.rank) break;
        if (more_to ? !multipliable(y, to.d[j]) : !multipliable(x, from.d[i])) return {};
        if (more_to) y = times(y, to.d[j++]);
        else x = times(x, from.d[i++]);
      }
      int end = i0; // behind the last axis along which it varies
      for (int a = i0; a < i; ++a)
        if (p.s.d[a] != 1) end = a + 1;
      if (end == i0) continue;
      extent_t of_mask = 1, met = 1;
      for (int a = i0; a < end; ++a) {
        of_mask = times(of_mask, from.d[a]);
        narrow.d[narrow.rank++] = p.s.d[a];
        whole.d[whole.rank++] = from.d[a];
      }
      int b = j0;
      while (b < j && quotient(met, of_mask) < 1) {
        r.d[b] = to.d[b];
        met = times(met, to.d[b++]);
      }
      const extent_t times_repeated = quotient(met, of_mask);
      if (times_repeated < 1) return {};
      if (times_repeated == 1) continue;
      if (whole.rank == max_rank) return {};
      narrow.d[narrow.rank++] = 1;
      whole.d[whole.rank++] = times_repeated;
    }
    if (!(numel(whole) == numel(r))) return {};
    part q{p.mask, r, p.implied, p.of_relu};
    if (!dry_) q.mask = reshape(g_, expand(g_, reshape(g_, p.mask, narrow), whole), r);
    return q;
  }
  static constexpr bool varies(const part& p, int axis) { return p.s.d[axis] != 1; }
  // The same mask with its one axis in another place.
  constexpr part moved(const part& p, const shape& to) {
    return {mask_as(p.mask, to), to, p.implied, p.of_relu};
  }
  static constexpr bool is_of_images(const part& p) { // or of all together
    for (int a = 1; a < p.s.rank; ++a)
      if (varies(p, a)) return false;
    return true;
  }
  // true for positions [lo, hi) of an axis
  constexpr int range(extent_t n, extent_t lo, extent_t hi) {
    const int at = iota(g_, shape{1, {n}});
    const auto number = [&](extent_t e) { return g_.constant(static_cast<double>(e), dtype::i32); };
    const int below = binary(g_, op::lt, at, number(hi));
    if (lo == 0) return below;
    const int above = binary(g_, op::ge, at, number(lo));
    return hi == n ? above : binary(g_, op::logical_and, above, below);
  }
  // true for the positions that an index has
  constexpr int listed(int index, extent_t n) {
    const int ones = expand(g_, g_.constant(1, dtype::i32), g_[index].s);
    const int times_listed = scatter_add(g_, ones, index, 0, shape{1, {n}});
    return binary(g_, op::gt, times_listed, g_.constant(0, dtype::i32));
  }
  static constexpr shape one_axis(int rank, int axis, extent_t n) {
    shape s;
    s.rank = rank;
    for (int a = 0; a < rank; ++a) s.d[a] = a == axis ? n : 1;
    return s;
  }

  // from: the shape of its operand
  constexpr part part_of_pad(const node& v, const shape& from) {
    const int axis = static_cast<int>(v.attr);
    const extent_t n = v.s.d[axis], lo = static_cast<extent_t>(v.attr2);
    const shape s = one_axis(v.s.rank, axis, n);
    return {dry_ ? no_node : reshape(g_, range(n, lo, lo + from.d[axis]), s), s};
  }
  // Parts of node i, of those of its operand 0.
  constexpr parts moved_parts(int i) {
    const node& v = at(i);
    const shape from = at(v.in[0]).s;
    const int axis = static_cast<int>(v.attr);
    parts r;
    if (v.o == op::pad) add(r, part_of_pad(v, from));
    if (v.o == op::scatter_add) {
      const shape s = one_axis(v.s.rank, axis, v.s.d[axis]);
      add(r, {dry_ ? no_node : reshape(g_, listed(made_[v.in[1]], v.s.d[axis]), s), s});
    }
    bool drops = false;
    for (const part& p : of_[v.in[0]]) {
      shape s = p.s;
      switch (v.o) {
        case op::expand: add(r, {p.mask, ranked(p.s, v.s.rank), p.implied, p.of_relu}); break;
        case op::reshape:
          if (const part q = reshaped(p, from, v.s); q.s.rank == v.s.rank && (dry_ || q.mask >= 0)) add(r, q);
          else drops = true;
          break;
        case op::transpose:
          for (int a = 0; a < s.rank; ++a) s.d[a] = p.s.d[perm_axis(v.attr, a)];
          add(r, {dry_ ? no_node : transpose(g_, reshape(g_, p.mask, p.s), v.attr), s, p.implied, p.of_relu});
          break;
        case op::slice:
          if (!varies(p, axis)) add(r, p);
          else {
            s.d[axis] = v.s.d[axis];
            add(r,
                {dry_ ? no_node
                      : slice(g_, reshape(g_, p.mask, p.s), axis, static_cast<extent_t>(v.attr2), s.d[axis]),
                 s, p.implied, p.of_relu});
          }
          break;
        case op::pad:
          if (!varies(p, axis)) add(r, p);
          else {
            s.d[axis] = v.s.d[axis];
            const auto lo = static_cast<extent_t>(v.attr2);
            add(r, {dry_ ? no_node
                         : pad(g_, reshape(g_, p.mask, p.s), axis, lo, v.s.d[axis] - lo - from.d[axis]),
                    s, p.implied, p.of_relu});
          }
          break;
        case op::gather: {
          const shape index = at(v.in[1]).s;
          if (varies(p, axis)) {
            s = detail::gathered(p.s, index, axis);
            add(r, {dry_ ? no_node : gather(g_, reshape(g_, p.mask, p.s), made_[v.in[1]], axis), s, p.implied,
                    p.of_relu});
          } else add(r, moved(p, detail::gathered(p.s, keepdims(index, all_axes(index)), axis)));
          break;
        }
        case op::scatter_add: {
          const int axes = at(v.in[1]).s.rank;
          bool along = false;
          for (int a = axis; a < axis + axes; ++a) along = along || varies(p, a);
          s = {};
          for (int a = 0; a < p.s.rank; ++a) {
            if (a == axis) s.d[s.rank++] = 1;
            if (a < axis || a >= axis + axes) s.d[s.rank++] = p.s.d[a];
          }
          if (axis == p.s.rank) s.d[s.rank++] = 1;
          if (!along) add(r, moved(p, s));
          else drops = true;
          break;
        }
        default: break;
      }
    }
    r = kept(r, drops);
    if (v.o == op::scatter_add && v.in[2] >= 0) return united(r, of_[v.in[2]]);
    return r;
  }
  constexpr parts summed_parts(int i) const {
    const node& v = at(i);
    parts r;
    bool drops = false;
    for (const part& p : of_[v.in[0]]) {
      bool along = false;
      for (int a = 0; a < p.s.rank; ++a) along = along || (((v.attr >> a) & 1u) != 0 && varies(p, a));
      if (!along) add(r, p);
      else drops = true;
    }
    return kept(r, drops);
  }
  // Of what is computed image by image.
  constexpr parts parts_of_images(int i) {
    const node& v = at(i);
    parts r;
    bool drops = false;
    for (const part& p : of_[v.in[0]]) {
      if (!is_of_images(p)) {
        drops = true;
        continue;
      }
      const extent_t n = p.s.d[0];
      const shape s = one_axis(v.s.rank, 0, n == 1 ? 1 : v.s.d[0]);
      if (n == s.d[0]) add(r, moved(p, s));
      else if (const extent_t planes = quotient(v.s.d[0], n); v.o == op::unfold && planes > 0) {
        part q{no_node, s, p.implied, p.of_relu};
        if (!dry_)
          q.mask = reshape(g_, expand(g_, reshape(g_, p.mask, shape{2, {n, 1}}), shape{2, {n, planes}}), s);
        add(r, q);
      } else if (const int m = v.o == op::fold ? repeated_from(p, v.s.d[0]) : no_node;
                 m >= 0 || (dry_ && v.o == op::fold))
        add(r, {mask_as(m, s), s, p.implied, p.of_relu});
      else drops = true;
    }
    return kept(r, drops);
  }
  // The n elements each of which the mask repeats, or no_node.
  constexpr int repeated_from(const part& p, extent_t n) const {
    if (dry_) return no_node;
    int m = p.mask;
    while (g_[m].o == op::reshape || g_[m].o == op::copy || g_[m].o == op::expand) {
      if (numel(g_[m].s) == n) return m;
      m = g_[m].in[0];
    }
    return numel(g_[m].s) == n ? m : no_node;
  }

  // ---- products ---------------------------------------------------------------------------------------------------

  struct product_axes {
    int row = no_node, inner = no_node; // of an operand; its other axes are those of a batch
  };
  static constexpr product_axes axes_of(const node& v, int k, int rank) {
    const bool t = (v.attr >> k & 1u) != 0;
    const int last = rank - 1, before = rank - 2;
    if (k == 0) return t ? product_axes{last, before} : product_axes{before, last};
    return t ? product_axes{before, last} : product_axes{last, before};
  }
  // The part of operand k, as one of the other operand, for what is summed over; or of the result.
  constexpr parts matmul_parts(int i, int k, bool summed) {
    const node& v = at(i);
    const int rank = at(v.in[k]).s.rank;
    const shape& other = at(v.in[1 - k]).s;
    const product_axes from = axes_of(v, k, rank);
    // relu's condition of a vector leaves out single elements, though they are rows of a product with it.
    const auto is_of_elements = [&](const part& p) {
      return p.of_relu && at(v.in[k]).s.d[summed ? from.row : from.inner] == 1 &&
             (varies(p, from.row) || varies(p, from.inner));
    };
    const auto leaves_out_of_sum = [&](const part& p) { // some of its terms, or the only one
      return varies(p, from.inner) || at(v.in[k]).s.d[from.inner] == 1;
    };
    parts r;
    bool drops = false;
    for (const part& p : of_[v.in[k]]) {
      if (is_of_elements(p) ||
          (summed ? varies(p, from.row) || !leaves_out_of_sum(p) : varies(p, from.inner))) {
        drops = true;
        continue;
      }
      shape s;
      s.rank = summed ? other.rank : v.s.rank;
      const int to = summed ? axes_of(v, 1 - k, other.rank).inner : v.s.rank - (k == 0 ? 2 : 1);
      bool fits = true;
      for (int a = 0; a < s.rank; ++a) s.d[a] = 1;
      for (int a = 0; a + 2 < rank; ++a) { // batch axes are aligned at the last
        const int b = a + s.rank - rank;
        if (p.s.d[a] == 1) continue;
        fits = fits && b >= 0 && (summed ? other.d[b] : v.s.d[b]) == p.s.d[a];
        if (fits) s.d[b] = p.s.d[a];
      }
      s.d[to] = p.s.d[summed ? from.inner : from.row];
      if (fits) add(r, moved(p, s));
      else drops = true;
    }
    return kept(r, drops);
  }
  constexpr parts wgrad_parts(int i, int k, bool summed) {
    const node& v = at(i);
    parts r;
    bool drops = false;
    for (const part& p : of_[v.in[k]])
      if (is_of_images(p) && varies(p, 0) == summed)
        add(r, moved(p, one_axis(summed ? at(v.in[1 - k]).s.rank : v.s.rank, 0, p.s.d[0])));
      else drops = true;
    return kept(r, drops);
  }
  // What operand k is multiplied by, zero where operand k is. Nothing is done where it has these zeros itself.
  constexpr void guard_operand(int i, int k, const parts& l, int (&in)[3]) {
    parts rest = l, left;
    const box b = box_of(at(i).in[k]);
    if (b.found()) rest = rest_of(l, b, summed_axis(i, k, b.axis)); // operands are sliced to the box
    for (const part& p : rest)
      if (dry_ || find(of_[at(i).in[1 - k]], p.mask) == nullptr) left.push_back(p);
    guards_ = guards_ || (b.found() && !l.empty());
    if (left.empty() || plain_[at(i).in[1 - k]] != 0) return;
    guards_ = true;
    if (!dry_) in[1 - k] = guarded(in[1 - k], left);
  }
  constexpr int guarded(int x, const parts& l) {
    const int m = all_of(l);
    if (m < 0) return x; // what implies them is no part of l: a box around x, or a zero of the other operand
    return expand(g_, where(g_, m, x, g_.constant(0, g_[x].t)), g_[x].s);
  }

  // ---- slices -----------------------------------------------------------------------------------------------------

  // The elements [lo, lo + extent) of an axis of n that operand k is not zero in: pad(inner).
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
  // These elements of x; what a rule makes of a few operands is made again of them.
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
  // The axis of the other operand that meets this one of operand k in a sum, or no_node.
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
  // The parts without that of the box, which lies along this axis of theirs.
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
  // Is it zero outside these parts by its own condition, which was padded with it?
  constexpr bool has_condition(int inner, const parts& l) const {
    if (g_[inner].o != op::where || !is_zero(g_, g_[inner].in[2]) || l.size() != 1) return false;
    int m = l[0].mask, c = g_[inner].in[0];
    if (g_[m].o == op::pad) m = g_[m].in[0];
    for (int* x : {&m, &c})
      while (g_[*x].o == op::reshape || g_[*x].o == op::copy) *x = g_[*x].in[0];
    return m == c;
  }
  // The node computed in the box of operand k alone, and zeros around.
  constexpr int padded(int i, int k, const int (&in)[3], const parts& l) {
    const node& v = at(i);
    box b = box_of(v.in[k]);
    shape s[3]{};
    shapes_of(v, s);
    if (!b.found() || b.n == 1) return no_node;
    row_axis to = where_rows_go(v, s, k, {b.axis, 1}, b.n);
    for (int a = 0; v.o == op::reshape && !to.found() && a < v.s.rank; ++a) { // the axis becomes two
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
  // A product whose operand k is zero outside of a box that is summed over.
  constexpr int summed_in_box(int i, int k, int (&in)[3]) {
    const node& v = at(i);
    const box b = box_of(v.in[k]);
    shape s[3]{};
    shapes_of(v, s);
    if (!b.found() || b.n == 1) return no_node;
    const row_sum q = where_rows_are_summed(v, s, k, {b.axis, 1});
    if (!q.found || q.other < 0 || q.axis.block != 1) return no_node;
    int of_box[3] = {no_node, no_node, no_node};
    of_box[k] = dense(g_, b.inner);
    of_box[1 - k] = dense(g_, elements(in[1 - k], q.axis.axis, b.lo, b.extent));
    return remade(v, of_box, v.s);
  }

  // ---- nodes ------------------------------------------------------------------------------------------------------

  constexpr bool is_plain(int i) const {
    const node& v = at(i);
    const kind is = rule(v.o).k;
    if (v.o == op::constant || v.o == op::extent) return true;
    if (is != kind::elementwise && is != kind::view) return false;
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0 && plain_[v.in[k]] == 0 && !(v.o == op::where && k == 0)) return false;
    return !is_custom(v.o) && is_float(v.t);
  }
  constexpr bool found(int x) const { return x >= 0 && !of_[x].empty(); }
  // -> the node, with its parts in `l`
  constexpr int elementwise(int i, const int (&in)[3], parts& l) {
    const node& v = at(i);
    bool guards = false;
    switch (v.o) {
      case op::mul:
        for (int k = 0; k < 2; ++k) {
          add_all(l, of_[v.in[k]]);
          guards = guards || (found(v.in[k]) && plain_[v.in[1 - k]] == 0);
        }
        break;
      case op::div:
        l = of_[v.in[0]];
        guards = found(v.in[0]) && plain_[v.in[1]] == 0;
        break;
      case op::where:
        for (int k = 1; k < 3; ++k)
          if (is_zero(p_.nodes, v.in[3 - k])) {
            l = of_[v.in[k]];
            for (part& p : l) p.s = ranked(p.s, v.s.rank);
            add_condition(l, v.in[0], v.s.rank, k == 1);
            if (v.adjoint)
              if (const int y = padded(i, k, in, {}); y >= 0) return y;
            return remake(i, in);
          }
        if (found(v.in[1]) && found(v.in[2])) {
          parts one = of_[v.in[1]], two = of_[v.in[2]];
          add_condition(one, v.in[0], v.s.rank, true);
          add_condition(two, v.in[0], v.s.rank, false);
          l = united(one, two);
        }
        break;
      case op::add:
      case op::sub: l = united(of_[v.in[0]], of_[v.in[1]]); break;
      default:
        if (keeps_zero(v.o)) l = of_[v.in[0]];
    }
    for (part& p : l) p.s = ranked(p.s, v.s.rank);
    guards = guards && v.adjoint && !l.empty();
    guards_ = guards_ || guards;
    if (!l.empty() && v.adjoint && v.o != op::copy) {
      parts guarded_by; // no conditional operator: g++ 12 frees what it copies
      if (guards) guarded_by = l;
      for (int k = 0; k < 2; ++k)
        if (const int y = padded(i, k, in, guarded_by); y >= 0) return y;
    }
    const int y = remake(i, in);
    if (!guards || dry_) return y;
    const int m = all_of(l);
    return g_[y].o == op::where && g_[y].in[0] == m ? y : guarded(y, l);
  }
  constexpr int product(int i, int (&in)[3], parts& l) {
    const node& v = at(i);
    parts of_only_term; // of a sum: its operand is guarded, and the result needs no guard
    if (v.o == op::matmul) {
      for (int k = 0; k < 2; ++k)
        if (found(v.in[k])) {
          if (v.adjoint) {
            const parts summed = matmul_parts(i, k, true);
            guard_operand(i, k, summed, in);
            const shape& s = at(v.in[k]).s;
            if (s.d[axes_of(v, k, s.rank).inner] == 1) add_all(of_only_term, summed);
          }
          add_all(l, matmul_parts(i, k, false));
        }
    } else if (v.o == op::conv_wgrad) {
      for (int k = 0; k < 2; ++k)
        if (found(v.in[k])) {
          if (v.adjoint) guard_operand(i, k, wgrad_parts(i, k, true), in);
          add_all(l, wgrad_parts(i, k, false));
        }
    } else l = parts_of_images(i);
    if (v.adjoint && !l.empty()) {
      guards_ = true;
      for (int k = 0; k < 2; ++k)
        if (const int y = padded(i, k, in, l); y >= 0) return y;
    }
    int y = no_node;
    for (int k = 0; k < 2 && y < 0 && v.adjoint; ++k) y = summed_in_box(i, k, in);
    if (y < 0) y = remake(i, in);
    if (!v.adjoint || dry_) return y;
    parts left;
    for (const part& p : l)
      if (find(of_only_term, p.mask) == nullptr) left.push_back(p);
    return left.empty() ? y : guarded(y, left);
  }
  constexpr int remake(int i, const int (&in)[3]) { return dry_ ? no_node : again(at(i), in, at(i).s); }

  // The box stays one behind a reshape that keeps its axis, or makes it and others one.
  constexpr bool reshape_box(int i, const int (&in)[3]) {
    const int x = at(i).in[0], y = padded(i, 0, in, {});
    if (y < 0) return false;
    const parts all = of_[x];
    of_[x] = rest_of(all, box_of(x), box_of(x).axis);
    parts l = moved_parts(i);
    of_[x] = all;
    made_[i] = y;
    add(l, part_of_pad(node{g_[y]}, shape{g_[g_[y].in[0]].s}));
    of_[i] = l;
    return true;
  }
  constexpr void visit(int i) {
    const node& v = at(i);
    plain_[i] = is_plain(i) ? 1 : 0;
    if (rule(v.o).k == kind::leaf) {
      if (!dry_) made_[i] = leaf(v);
      return;
    }
    int in[3] = {no_node, no_node, no_node};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) in[k] = made_[v.in[k]];
    // a zero of the user's is none by construction, but for weights: where(c, 1, 0)
    if (!v.adjoint && plain_[i] == 0) {
      made_[i] = remake(i, in);
      return;
    }
    parts l;
    if (rule(v.o).k == kind::elementwise) made_[i] = elementwise(i, in, l);
    else if (is_heavy(v.o)) made_[i] = product(i, in, l);
    else {
      if (v.o == op::reshape && v.adjoint && reshape_box(i, in)) return;
      made_[i] = remake(i, in);
      switch (v.o) {
        case op::expand:
        case op::reshape:
        case op::transpose:
        case op::slice:
        case op::pad:
        case op::gather:
        case op::scatter_add: l = moved_parts(i); break;
        case op::sum: l = summed_parts(i); break;
        case op::unfold:
        case op::fold:
        case op::window_gather:
        case op::window_scatter:
        case op::window_sum:
        case op::window_spread: l = parts_of_images(i); break;
        default: break;
      }
    }
    of_[i] = l;
  }

public:
  constexpr explicit unread_guarding(const raw_program& p, bool dry)
      : row_rewriter(p),
        dry_(dry),
        of_(p.nodes.size(), parts{}),
        plain_(p.nodes.size(), 0),
        made_(p.nodes.size(), no_node) {}

  // Is there anything to guard? Without a node that is made, conditions that exclude each other are not known to.
  constexpr bool finds() {
    for (int i = 0; i < p_.nodes.size() && !guards_; ++i) visit(i);
    return guards_;
  }
  constexpr raw_program run() {
    for (int i = 0; i < p_.nodes.size(); ++i) {
      g_.in_adjoint = at(i).adjoint;
      visit(i);
    }
    vec<int> outputs;
    for (const int o : p_.outputs) outputs.push_back(made_[o]);
    return finished(outputs);
  }
};

// Other programs stay as they are.
template <int N, int O> constexpr bool multiplies_unread(const program<N, O>& p) {
  bool zeros = false;
  for (const node& v : p.nodes)
    zeros = zeros || v.o == op::where || (v.adjoint && (v.o == op::pad || v.o == op::scatter_add));
  if (!zeros) return false;
  const raw_program written = written_as(p); // row_rewriter keeps a reference
  return unread_guarding(written, true).finds();
}
template <int N, int O> constexpr raw_program with_guards(const program<N, O>& p) {
  const raw_program written = written_as(p);
  return unread_guarding(written, false).run();
}

} // namespace tapeless::detail
