// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// layout_rewriter: makes a program again with some of its convolutions in NHWC. Ops between two of them are in NHWC, too.
// A copy, the reorder, stands where the layout changes.
#pragma once
#include "../../ops/window.hpp"
#include "../../trace/compact.hpp"
#include "../analysis/batch_tiles.hpp"
#include "../analysis/strided_view.hpp"

namespace tapeless::detail {

// How many images the program has, if it may be one sweep over batch tiles (batch_tiles.hpp); else 0.
template <class Nodes> constexpr extent_t batch_sweep_images(const Nodes& nodes, int n) {
  extent_t images = 0;
  int convolutions = 0;
  for (int i = 0; i < n; ++i)
    if (is_conv(nodes[i].o)) {
      ++convolutions;
      if (const extent_t of = batch_tiling_of(nodes, i).n; of > images) images = of;
    }
  return convolutions > batch_sweep_convolutions ? 0 : images;
}

template <int N, int O> class layout_rewriter {
  struct forms { // ids in the new graph, or not made yet; nhwc: the tensor permuted by to_nhwc
    int nchw = no_node, nhwc = no_node;
  };
  const program<N, O>& p_;
  graph g_;
  vec<forms> made_{N, forms{}};
  vec<char> in_nhwc_{N, 0}; // its elements lie in NHWC order in memory
  // a convolution in NHWC reads it, directly or through ops that take any order
  vec<char> wanted_{N, 0};
  const extent_t images_; // of batch tiles, or 0

  constexpr const node& at(int i) const { return p_.nodes[i]; }
  static constexpr bool is_view(op o) { return rule(o).k == kind::view || o == op::copy; }
  // A permutation that keeps the order of the axes other than 1 moves nothing: it is a reshape.
  constexpr int permute(int a, std::uint64_t perm) {
    const shape s = permuted(g_[a].s, perm);
    const bool view = rule(g_[a].o).k == kind::view && g_[a].o != op::reshape;
    return !view && squeezed(s) == squeezed(g_[a].s) && keeps_order(g_[a].s, perm) ? reshape(g_, a, s)
                                                                                   : transpose(g_, a, perm);
  }
  static constexpr bool keeps_order(const shape& s, std::uint64_t perm) {
    int before = -1;
    for (int i = 0; i < s.rank; ++i) {
      const int from = perm_axis(perm, i);
      if (s.d[from] == 1) continue;
      if (from < before) return false;
      before = from;
    }
    return true;
  }

  // Node i in the order that the user has.
  constexpr int as_nchw(int i) {
    if (made_[i].nchw >= 0) return made_[i].nchw;
    const node& v = at(i);
    int r = no_node;
    if (!is_view(v.o)) r = permute(made_[i].nhwc, to_nchw);
    else {
      ids x{{no_node, no_node, no_node}};
      for (int k = 0; k < 3; ++k)
        if (v.in[k] >= 0) x.in[k] = as_nchw(v.in[k]);
      const make_rule& make = rule(v.o).facts.make;
      r = v.o == op::copy ? x.in[0] : make.simplifies ? make.call(g_, v, x.in, v.s) : renewed(v, x, v.s);
    }
    return made_[i].nchw = r;
  }
  // Node i in NHWC order. @pre it has four axes
  constexpr int as_nhwc(int i) {
    if (made_[i].nhwc >= 0) return made_[i].nhwc;
    const node& v = at(i);
    int r = no_node;
    if (v.o == op::copy) r = as_nhwc(v.in[0]);
    else if (v.o == op::expand) r = expand(g_, beside_nhwc(v.in[0]), permuted(v.s, to_nhwc));
    else if (v.o == op::slice)
      r = slice(g_, as_nhwc(v.in[0]), axis_in_nhwc(static_cast<int>(v.attr)), static_cast<extent_t>(v.attr2),
                v.s.d[static_cast<int>(v.attr)]);
    else r = permute(as_nchw(i), to_nhwc);
    return made_[i].nhwc = r;
  }
  static constexpr int axis_in_nhwc(int axis) {
    int k = 0;
    while (perm_axis(to_nhwc, k) != axis) ++k;
    return k;
  }
  // An operand that broadcasts to a tensor in NHWC.
  constexpr int beside_nhwc(int x) {
    const shape s = at(x).s;
    if (s.rank == 0) return as_nchw(x);
    if (s.rank == 4) return as_nhwc(x);
    shape wide{4, {1, 1, 1, 1}};
    for (int i = 0; i < s.rank; ++i) wide.d[4 - s.rank + i] = s.d[i];
    return permute(reshape(g_, as_nchw(x), wide), to_nhwc);
  }
  // A loop reads a whole tensor in the order of its elements. A tensor in another order is copied once.
  constexpr int in_order(int id) { return g_[id].o == op::transpose ? dense(g_, id) : id; }
  constexpr int operand_in_nhwc(int x, const shape& loop) {
    if (at(x).s.rank != 4 || !(at(x).s == loop)) return beside_nhwc(x);
    const int id = in_order(as_nhwc(x));
    if (!is_view(at(x).o)) made_[x].nhwc = id;
    return id;
  }
  constexpr int operand_in_nchw(int x, const shape& loop) {
    if (!(at(x).s == loop) || !lies_in_nhwc(x)) return as_nchw(x);
    const int id = in_order(as_nchw(x));
    if (!is_view(at(x).o)) made_[x].nchw = id;
    return id;
  }

  struct ids {
    int in[3];
  };
  constexpr int renewed(node v, ids x, const shape& s) {
    for (int k = 0; k < 3; ++k) v.in[k] = x.in[k];
    v.s = s;
    return g_.intern(v);
  }

  // Do its elements lie in NHWC order in memory, whatever the order of its axes?
  constexpr bool lies_in_nhwc(int i) const {
    const node& v = at(i);
    if (v.s.rank != 4) return false;
    if (v.o == op::copy || v.o == op::slice) return lies_in_nhwc(v.in[0]);
    if (v.o == op::transpose)
      return v.attr == to_nchw && !lies_in_nhwc(v.in[0]) && at(v.in[0]).o != op::transpose;
    return in_nhwc_[i] != 0;
  }
  // Repeated elements have no order of their own.
  constexpr bool is_free(int i) const {
    const node& v = at(i);
    return v.o == op::copy || v.o == op::slice ? is_free(v.in[0]) : v.o == op::expand;
  }
  // Does it move whole samples?
  constexpr bool moves_samples(const node& v) const {
    return (v.o == op::gather || v.o == op::scatter_add) && v.attr == 0 && at(v.in[1]).s.rank == 1;
  }
  // Does it compute elements along one axis of those along the same axis, or slide a window?
  constexpr bool moves(const node& v) const {
    const bool along_axis = rule(v.o).facts.attr.names == attr_names::axis && rule(v.o).k == kind::kernel &&
                            v.o != op::gather && v.o != op::scatter_add;
    return along_axis || slides(v.o) || moves_samples(v);
  }
  constexpr bool takes_any_order(const node& v) const {
    return rule(v.o).k == kind::elementwise || rule(v.o).k == kind::reduction || moves(v);
  }
  // Has the whole tensor a copy in NHWC, from which samples can be read? The copy of an argument in batch tiles does not
  // count: it need not stay.
  constexpr bool has_copy_in_nhwc(int x) const {
    return made_[x].nhwc >= 0 && g_[made_[x].nhwc].o == op::copy &&
           !(at(x).o == op::input && at(x).s.d[0] == images_);
  }
  // Is the result made in NHWC? It is if an operand as large as the loop is in NHWC. If all operands of that size are
  // repeated elements, it is if NHWC is wanted.
  constexpr bool follows(int i) const {
    const node& v = at(i);
    const shape& loop = rule(v.o).k == kind::reduction ? at(v.in[0]).s : v.s;
    if (!takes_any_order(v) || loop.rank != 4) return false;
    if (v.o == op::gather && moves_samples(v) && wanted_[i] != 0 && has_copy_in_nhwc(v.in[0])) return true;
    bool free = true;
    for (const int x : v.in) {
      if (x < 0 || (!moves(v) && !(at(x).s == loop))) continue;
      if (lies_in_nhwc(x)) return true;
      free = free && is_free(x);
    }
    return free && wanted_[i] != 0;
  }
  constexpr void find_wanted(const vec<char>& convs_in_nhwc) {
    for (int i = N - 1; i >= 0; --i) {
      const node& v = at(i);
      const bool conv = convs_in_nhwc[i] != 0;
      if (!conv && (wanted_[i] == 0 || !(takes_any_order(v) || v.o == op::slice))) continue;
      for (int k = 0; k < 3; ++k)
        if (v.in[k] >= 0 && at(v.in[k]).s.rank == 4 && (!conv || is_image(v.o, k))) wanted_[v.in[k]] = 1;
    }
  }
  static constexpr bool is_image(op o, int operand) { return operand == 0 || o == op::conv_wgrad; }

  constexpr void make_conv(int i) {
    node v = at(i);
    v.attr2 |= nhwc_bit;
    ids x{{no_node, no_node, no_node}};
    for (int k = 0; k < 2; ++k) {
      x.in[k] = dense(g_, is_image(v.o, k) ? as_nhwc(v.in[k]) : as_nchw(v.in[k]));
      if (is_image(v.o, k) && !is_view(at(v.in[k]).o)) made_[v.in[k]].nhwc = x.in[k];
    }
    if (v.o == op::conv_wgrad) made_[i].nchw = renewed(v, x, v.s);
    else {
      made_[i].nhwc = renewed(v, x, permuted(v.s, to_nhwc));
      in_nhwc_[i] = 1;
    }
  }
  constexpr void make_nhwc(int i) {
    node v = at(i);
    const shape& loop = rule(v.o).k == kind::reduction ? at(v.in[0]).s : v.s;
    ids x{{no_node, no_node, no_node}};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0)
        x.in[k] = at(v.in[k]).s.rank != 4 && moves_samples(v) ? dense(g_, as_nchw(v.in[k])) // the indices
                  : moves(v)                                  ? dense(g_, as_nhwc(v.in[k]))
                                                              : operand_in_nhwc(v.in[k], loop);
    if (slides(v.o)) v.attr2 |= nhwc_bit;
    v.attr = renumbered(v.attr, rule(v.o).facts.attr.names, 4, axis_in_nhwc);
    made_[i].nhwc = renewed(v, x, permuted(v.s, to_nhwc));
    in_nhwc_[i] = 1;
  }
  constexpr void make_nchw(int i) {
    const node& v = at(i);
    ids x{{no_node, no_node, no_node}};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0)
        x.in[k] = rule(v.o).k == kind::kernel
                      ? dense(g_, as_nchw(v.in[k]))
                      : operand_in_nchw(v.in[k], rule(v.o).k == kind::reduction ? at(v.in[0]).s : v.s);
    made_[i].nchw = v.o == op::input ? g_.input(static_cast<int>(v.attr), v.t, v.s, is_pattern_leaf(v))
                                     : renewed(v, x, v.s);
  }

public:
  constexpr explicit layout_rewriter(const program<N, O>& p)
      : p_(p), images_(batch_sweep_images(p.nodes, N)) {}

  // convs_in_nhwc: of each node, is it a convolution that runs in NHWC?   @return .broken if a rule is broken
  constexpr raw_program with(const vec<char>& convs_in_nhwc) {
    find_wanted(convs_in_nhwc);
    for (int i = 0; i < N; ++i) {
      const node& v = at(i);
      g_.in_adjoint = v.adjoint;
      if (is_view(v.o)) continue; // made where they are read
      if (convs_in_nhwc[i] != 0) make_conv(i);
      else if (follows(i)) make_nhwc(i);
      else make_nchw(i);
    }
    vec<int> outputs;
    for (int k = 0; k < O; ++k) {
      g_.in_adjoint = at(p_.outputs[k]).adjoint;
      outputs.push_back(as_nchw(p_.outputs[k]));
    }
    raw_program r = compact(g_, outputs);
    r.broken = g_.broken;
    return r;
  }
};

} // namespace tapeless::detail
