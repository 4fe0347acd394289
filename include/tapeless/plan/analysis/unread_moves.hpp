// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// How ops pass on the masks outside of which their operands are zero (unread_masks.hpp): views and moves of elements,
// sums, ops that work image by image, and products. A mask that an op mixes along its axis is dropped.
#pragma once
#include "../../ops/index.hpp"
#include "unread_masks.hpp" // IWYU pragma: export

namespace tapeless::detail {

class unread_moves : protected unread_masks {
protected:
  using unread_masks::unread_masks;

  // A part of the operand of a reshape, as a part of the result. Where a reshape joins axes or splits one, the part may
  // vary along the first of them: it is repeated along the rest. An empty shape: it has no such form.
  constexpr part reshaped(const part& p, const shape& from, const shape& to) {
    shape narrow, whole;           // of the mask, and of the mask repeated
    shape r = ranked({}, to.rank); // of the repeated mask as a part of the result
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
      int end = i0; // one past the last axis along which it varies
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
    return p.as(dry_ ? p.mask : reshape(g_, expand(g_, reshape(g_, p.mask, narrow), whole), r), r);
  }
  static constexpr bool varies(const part& p, int axis) { return p.s.d[axis] != 1; }
  // The same mask with its one axis at another position.
  constexpr part moved(const part& p, const shape& to) { return p.as(mask_as(p.mask, to), to); }
  // Does it vary along the images (axis 0) at most?
  static constexpr bool is_of_images(const part& p) {
    for (int a = 1; a < p.s.rank; ++a)
      if (varies(p, a)) return false;
    return true;
  }
  // The mask that is true at positions [lo, hi) of an axis of extent n.
  constexpr int range(extent_t n, extent_t lo, extent_t hi) {
    const int at = iota(g_, shape{1, {n}});
    const auto number = [&](extent_t e) { return g_.constant(static_cast<double>(e), dtype::i32); };
    const int below = binary(g_, op::lt, at, number(hi));
    if (lo == 0) return below;
    const int above = binary(g_, op::ge, at, number(lo));
    return hi == n ? above : binary(g_, op::logical_and, above, below);
  }
  // The mask that is true at the positions in a list of indices; of those alone that `counts`, a mask of the list.
  constexpr int mask_of_indices(int index, extent_t n, int counts = no_node) {
    const int none = g_.constant(0, dtype::i32), one = g_.constant(1, dtype::i32);
    const int ones = expand(g_, counts < 0 ? one : where(g_, counts, one, none), g_[index].s);
    return binary(g_, op::gt, scatter_add(g_, ones, index, 0, shape{1, {n}}), none);
  }
  // A part of the elements that scatter_add node i adds, as a part of its result: the positions of those that it keeps.
  // An empty shape: it varies along other axes.
  constexpr part scattered(const part& p, int i) {
    const node& v = at(i);
    const int axis = static_cast<int>(v.attr), axes = at(v.in[1]).s.rank;
    shape of_list;
    for (int a = 0; a < p.s.rank; ++a)
      if (a >= axis && a < axis + axes) of_list.d[of_list.rank++] = p.s.d[a];
      else if (varies(p, a)) return {};
    const extent_t n = v.s.d[axis];
    const shape s = one_axis(v.s.rank, axis, n);
    if (dry_) return p.as(no_node, s);
    return p.as(reshape(g_, mask_of_indices(made_[v.in[1]], n, reshape(g_, p.mask, of_list)), s), s);
  }
  static constexpr shape one_axis(int rank, int axis, extent_t n) {
    shape s;
    s.rank = rank;
    for (int a = 0; a < rank; ++a) s.d[a] = a == axis ? n : 1;
    return s;
  }

  // The mask of what is not padding; from: shape of the operand.
  constexpr part part_of_pad(const node& v, const shape& from) {
    const int axis = static_cast<int>(v.attr);
    const extent_t n = v.s.d[axis], lo = static_cast<extent_t>(v.attr2);
    const shape s = one_axis(v.s.rank, axis, n);
    return {dry_ ? no_node : reshape(g_, range(n, lo, lo + from.d[axis]), s), s};
  }
  // A part of operand k of node i, as a part of the result. An empty shape: it has no such form.
  constexpr part passed(int i, int k, const part& p) {
    const node& v = at(i);
    if (v.o == op::reshape) return reshaped(p, at(v.in[0]).s, v.s);
    const op_facts& facts = rule(v.o).facts;
    const operand_shapes s(p_, v);
    shape to = one_axis(v.s.rank, no_node, 1),
          moved_to = v.s; // moved_to: where v moves the elements of the mask
    unsigned left = 0;    // axes of the mask that no axis of the result follows
    for (int a = 0; a < p.s.rank; ++a)
      if (varies(p, a)) left |= 1u << a;
    bool in_order = true;
    int before = no_node;
    for (int a = 0; a < v.s.rank; ++a) {
      const row_axis from = facts.axes(v, s, k, {a, 1}, v.s.d[a]).axis;
      if (!from.found()) continue;
      if (from.block != 1) { // images of several rows: each as often as the mask repeats it
        if (left != 1u << from.axis) continue;
        const shape all = one_axis(v.s.rank, a, v.s.d[a]);
        if (const int m = repeated_from(p, v.s.d[a]); dry_ || m >= 0) return p.as(mask_as(m, all), all);
        continue;
      }
      moved_to.d[a] = to.d[a] = p.s.d[from.axis];
      left &= ~(1u << from.axis);
      if (to.d[a] == 1) continue;
      in_order = in_order && from.axis > before;
      before = from.axis;
    }
    if (left == 0 && in_order) return moved(p, to);
    if (v.o == op::scatter_add && k == 0) return scattered(p, i);
    if (facts.adds) { // of which sums is a term left?
      if (dry_) return p.as(no_node, moved_to);
      const int none = g_.constant(0, dtype::i32);
      node w = v;
      w.t = dtype::i32;
      const int terms = where(g_, reshape(g_, p.mask, p.s), g_.constant(1, dtype::i32), none);
      return p.as(binary(g_, op::gt, remade(w, {terms, no_node, no_node}, moved_to), none), moved_to);
    }
    if (facts.moves) {
      if (dry_) return p.as(no_node, moved_to);
      node w = v;
      w.t = dtype::boolean;
      int in[3] = {reshape(g_, p.mask, p.s), no_node, no_node};
      for (int j = 1; j < 3; ++j)
        if (v.in[j] >= 0) in[j] = made_[v.in[j]];
      return p.as(remade(w, in, moved_to), moved_to);
    }
    for (int a = 0; a < p.s.rank; ++a) // rows that become several neighbours
      if (left == 1u << a)
        if (const row_axis r = where_rows_go(v, s, k, {a, 1}, p.s.d[a]); r.found()) {
          const shape one{2, {p.s.d[a], 1}}, each{2, {p.s.d[a], r.block}},
              all = one_axis(v.s.rank, r.axis, v.s.d[r.axis]);
          return p.as(dry_ ? no_node : reshape(g_, expand(g_, reshape(g_, p.mask, one), each), all), all);
        }
    return {};
  }
  // The parts of operand k as parts of the result.
  constexpr parts passed_parts(int i, int k) {
    parts r;
    bool drops = false;
    for (const part& p : of_[at(i).in[k]])
      if (const part q = passed(i, k, p); q.s.rank == at(i).s.rank && (dry_ || q.mask >= 0)) add(r, q);
      else drops = true;
    return kept(r, drops);
  }
  // The parts of an op that is zero where some of its operands are.
  constexpr parts passed_parts(int i) {
    const node& v = at(i);
    parts r;
    if (v.o == op::pad) add(r, part_of_pad(v, at(v.in[0]).s));
    if (v.o == op::scatter_add) {
      const int axis = static_cast<int>(v.attr);
      const shape s = one_axis(v.s.rank, axis, v.s.d[axis]);
      const parts of_elements = passed_parts(i, 0);
      part in_list{dry_ ? no_node : reshape(g_, mask_of_indices(made_[v.in[1]], v.s.d[axis]), s), s};
      for (const part& p : of_elements) in_list.implied = in_list.implied || (!dry_ && varies(p, axis));
      add(r, in_list);
      add_all(r, of_elements);
      if (v.in[2] >= 0) return united(r, of_[v.in[2]]);
      return r;
    }
    for (const unsigned zeros : rule(v.o).facts.zero) {
      if (zeros == (zero_0 | zero_1)) add_all(r, united(passed_parts(i, 0), passed_parts(i, 1)));
      for (int k = 0; k < 2; ++k)
        if (zeros == 1u << k) add_all(r, passed_parts(i, k));
    }
    return r;
  }
  // The node of n elements that the mask of this part repeats, or no_node.
  constexpr int repeated_from(const part& p, extent_t n) const {
    if (dry_) return no_node;
    int m = p.mask;
    while (g_[m].o == op::reshape || g_[m].o == op::copy || g_[m].o == op::expand) {
      if (numel(g_[m].s) == n) return m;
      m = g_[m].in[0];
    }
    return numel(g_[m].s) == n ? m : no_node;
  }

  struct product_axes {
    int row = no_node, inner = no_node; // the other axes of the operand are batch axes
  };
  // The axes of operand k of matmul.
  static constexpr product_axes axes_of(const node& v, int k, int rank) {
    const bool t = (v.attr >> k & 1u) != 0;
    const int last = rank - 1, before = rank - 2;
    if (k == 0) return t ? product_axes{last, before} : product_axes{before, last};
    return t ? product_axes{before, last} : product_axes{last, before};
  }
  // summed: the parts of operand k that leave out terms of the sum, as parts of the other operand.
  // Else its parts that leave out rows of the result, as parts of the result.
  constexpr parts matmul_parts(int i, int k, bool summed) {
    const node& v = at(i);
    const int rank = at(v.in[k]).s.rank;
    const shape& other = at(v.in[1 - k]).s;
    const product_axes from = axes_of(v, k, rank);
    // relu's condition on a vector is about single elements, although they are rows of the product.
    const auto is_of_elements = [&](const part& p) {
      return p.of_relu && at(v.in[k]).s.d[summed ? from.row : from.inner] == 1 &&
             (varies(p, from.row) || varies(p, from.inner));
    };
    const auto leaves_out_terms = [&](const part& p) { // some, or the only one
      return varies(p, from.inner) || at(v.in[k]).s.d[from.inner] == 1;
    };
    parts r;
    bool drops = false;
    for (const part& p : of_[v.in[k]]) {
      if (is_of_elements(p) ||
          (summed ? varies(p, from.row) || !leaves_out_terms(p) : varies(p, from.inner))) {
        drops = true;
        continue;
      }
      shape s;
      s.rank = summed ? other.rank : v.s.rank;
      const int to = summed ? axes_of(v, 1 - k, other.rank).inner : v.s.rank - (k == 0 ? 2 : 1);
      bool fits = true;
      for (int a = 0; a < s.rank; ++a) s.d[a] = 1;
      for (int a = 0; a + 2 < rank; ++a) { // batch axes are aligned from the last one
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
  // The same for the gradient of a convolution's weights, which sums over images.
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
};

} // namespace tapeless::detail
