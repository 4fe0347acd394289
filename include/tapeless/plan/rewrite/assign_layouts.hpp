// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// arranged: a program whose convolutions run in the layout that suits the whole of it. In the user's program images are
// (N, C, H, W); a convolution may also run channels last, (N, H, W, C), and what lies between two of them then does so
// too. A reorder is a copy, and stands where the layout changes. The weights stay as the user has them.
// The back end says what a convolution and a reorder cost; of the assignments
//   as written | all channels last | those channels last that gain by it
// the cheapest is taken.
#pragma once
#include "../../ops/window.hpp"
#include "../../trace/compact.hpp"
#include "../analysis/batch_tiles.hpp"
#include "../analysis/strided_view.hpp"

namespace tapeless::detail {

// Of the images that pass a few at a time (plan/analysis/batch_tiles.hpp) where the whole program may be one strip: how many; else 0.
template <class Nodes> constexpr extent_t images_of_sweep(const Nodes& nodes, int n) {
  extent_t images = 0;
  int convolutions = 0;
  for (int i = 0; i < n; ++i)
    if (is_conv(nodes[i].o)) {
      ++convolutions;
      if (const extent_t of = batch_tiling_of(nodes, i).n; of > images) images = of;
    }
  return convolutions > convolutions_of_sweep ? 0 : images;
}

template <int N, int O> class layout_rewriter {
  struct forms { // ids in the new graph; last: the same tensor permuted by to_channels_last
    int plain = no_node, last = no_node;
  };
  const program<N, O>& p_;
  graph g_;
  vec<forms> made_{N, forms{}};
  vec<char> in_place_{N, 0}; // the node's elements lie channels last in memory
  // a convolution that runs channels last reads it, directly or through ops that take any order
  vec<char> wanted_{N, 0};
  const extent_t images_; // that pass a few at a time, or 0

  constexpr const node& at(int i) const { return p_.nodes[i]; }
  static constexpr bool is_view(op o) { return rule(o).k == kind::view || o == op::copy; }
  // A permutation that keeps the order of the axes other than 1 moves nothing.
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

  constexpr int plain(int i) {
    if (made_[i].plain >= 0) return made_[i].plain;
    const node& v = at(i);
    int r = no_node;
    if (!is_view(v.o)) r = permute(made_[i].last, to_channels_first);
    else {
      const int a = plain(v.in[0]);
      switch (v.o) {
        case op::copy: r = a; break;
        case op::expand: r = expand(g_, a, v.s); break;
        case op::transpose: r = transpose(g_, a, v.attr); break;
        case op::slice:
          r = slice(g_, a, static_cast<int>(v.attr), static_cast<extent_t>(v.attr2),
                    v.s.d[static_cast<int>(v.attr)]);
          break;
        case op::reshape: r = reshape(g_, a, v.s); break;
        default:
          r = renewed(v, {a, v.in[1] < 0 ? no_node : plain(v.in[1]), v.in[2] < 0 ? no_node : plain(v.in[2])},
                      v.s);
      }
    }
    return made_[i].plain = r;
  }
  // @pre the node has four axes
  constexpr int last(int i) {
    if (made_[i].last >= 0) return made_[i].last;
    const node& v = at(i);
    int r = no_node;
    if (v.o == op::copy) r = last(v.in[0]);
    else if (v.o == op::expand) r = expand(g_, beside_last(v.in[0]), permuted(v.s, to_channels_last));
    else if (v.o == op::slice)
      r = slice(g_, last(v.in[0]), axis_in_last(static_cast<int>(v.attr)), static_cast<extent_t>(v.attr2),
                v.s.d[static_cast<int>(v.attr)]);
    else r = permute(plain(i), to_channels_last);
    return made_[i].last = r;
  }
  static constexpr int axis_in_last(int axis) {
    int k = 0;
    while (perm_axis(to_channels_last, k) != axis) ++k;
    return k;
  }
  static constexpr std::uint64_t axes_in_last(std::uint64_t axes) {
    std::uint64_t r = 0;
    for (int k = 0; k < 4; ++k) r |= ((axes >> perm_axis(to_channels_last, k)) & 1u) << k;
    return r;
  }
  // An operand that is repeated over a tensor that runs channels last.
  constexpr int beside_last(int x) {
    const shape s = at(x).s;
    if (s.rank == 0) return plain(x);
    if (s.rank == 4) return last(x);
    shape wide{4, {1, 1, 1, 1}};
    for (int i = 0; i < s.rank; ++i) wide.d[4 - s.rank + i] = s.d[i];
    return permute(reshape(g_, plain(x), wide), to_channels_last);
  }
  // Loops read whole tensors in the order of their elements: one in another order is copied once.
  constexpr int in_order(int id) { return g_[id].o == op::transpose ? dense(g_, id) : id; }
  constexpr int operand_last(int x, const shape& loop) {
    if (at(x).s.rank != 4 || !(at(x).s == loop)) return beside_last(x);
    const int id = in_order(last(x));
    if (!is_view(at(x).o)) made_[x].last = id;
    return id;
  }
  constexpr int operand_plain(int x, const shape& loop) {
    if (!(at(x).s == loop) || !lies_last(x)) return plain(x);
    const int id = in_order(plain(x));
    if (!is_view(at(x).o)) made_[x].plain = id;
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

  // Do the node's elements lie channels last, whatever its own order is?
  constexpr bool lies_last(int i) const {
    const node& v = at(i);
    if (v.s.rank != 4) return false;
    if (v.o == op::copy || v.o == op::slice) return lies_last(v.in[0]);
    if (v.o == op::transpose)
      return v.attr == to_channels_first && !lies_last(v.in[0]) && at(v.in[0]).o != op::transpose;
    return in_place_[i] != 0;
  }
  // Repeated elements lie in any order.
  constexpr bool is_free(int i) const {
    const node& v = at(i);
    return v.o == op::copy || v.o == op::slice ? is_free(v.in[0]) : v.o == op::expand;
  }
  // of some samples, or to some
  constexpr bool moves_samples(const node& v) const {
    return (v.o == op::gather || v.o == op::scatter_add) && v.attr == 0 && at(v.in[1]).s.rank == 1;
  }
  constexpr bool moves(const node& v) const {
    return v.o == op::pad || v.o == op::concat || slides(v.o) || moves_samples(v);
  }
  constexpr bool takes_any_order(const node& v) const {
    return rule(v.o).k == kind::elementwise || rule(v.o).k == kind::reduction || moves(v);
  }
  // Some samples of a tensor that has been reordered as a whole are read there, but not those of an argument whose reordered
  // images pass a few at a time: they need not stay.
  constexpr bool has_copy_in_last(int x) const {
    return made_[x].last >= 0 && g_[made_[x].last].o == op::copy &&
           !(at(x).o == op::input && at(x).s.d[0] == images_);
  }
  // The result lies channels last where an operand that is as large as the loop does, and where none of them lies in
  // any order and it is wanted so.
  constexpr bool follows(int i) const {
    const node& v = at(i);
    const shape& loop = rule(v.o).k == kind::reduction ? at(v.in[0]).s : v.s;
    if (!takes_any_order(v) || loop.rank != 4) return false;
    if (v.o == op::gather && moves_samples(v) && wanted_[i] != 0 && has_copy_in_last(v.in[0])) return true;
    bool free = true;
    for (const int x : v.in) {
      if (x < 0 || (!moves(v) && !(at(x).s == loop))) continue;
      if (lies_last(x)) return true;
      free = free && is_free(x);
    }
    return free && wanted_[i] != 0;
  }
  constexpr void find_wanted(const vec<char>& channels_last) {
    for (int i = N - 1; i >= 0; --i) {
      const node& v = at(i);
      const bool conv = channels_last[i] != 0;
      if (!conv && (wanted_[i] == 0 || !(takes_any_order(v) || v.o == op::slice))) continue;
      for (int k = 0; k < 3; ++k)
        if (v.in[k] >= 0 && at(v.in[k]).s.rank == 4 && (!conv || is_image(v.o, k))) wanted_[v.in[k]] = 1;
    }
  }
  static constexpr bool is_image(op o, int operand) { return operand == 0 || o == op::conv_wgrad; }

  constexpr void make_conv(int i) {
    node v = at(i);
    v.attr2 |= channels_last_bit;
    ids x{{no_node, no_node, no_node}};
    for (int k = 0; k < 2; ++k) {
      x.in[k] = dense(g_, is_image(v.o, k) ? last(v.in[k]) : plain(v.in[k]));
      if (is_image(v.o, k) && !is_view(at(v.in[k]).o)) made_[v.in[k]].last = x.in[k];
    }
    if (v.o == op::conv_wgrad) made_[i].plain = renewed(v, x, v.s);
    else {
      made_[i].last = renewed(v, x, permuted(v.s, to_channels_last));
      in_place_[i] = 1;
    }
  }
  constexpr void make_last(int i) {
    node v = at(i);
    const shape& loop = rule(v.o).k == kind::reduction ? at(v.in[0]).s : v.s;
    ids x{{no_node, no_node, no_node}};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0)
        x.in[k] = at(v.in[k]).s.rank != 4 && moves_samples(v) ? dense(g_, plain(v.in[k])) // which ones
                  : moves(v)                                  ? dense(g_, last(v.in[k]))
                                                              : operand_last(v.in[k], loop);
    if (rule(v.o).k == kind::reduction) v.attr = axes_in_last(v.attr);
    else if (slides(v.o)) v.attr2 |= channels_last_bit;
    else if (moves(v)) v.attr = static_cast<std::uint64_t>(axis_in_last(static_cast<int>(v.attr)));
    made_[i].last = renewed(v, x, permuted(v.s, to_channels_last));
    in_place_[i] = 1;
  }
  constexpr void make_plain(int i) {
    const node& v = at(i);
    ids x{{no_node, no_node, no_node}};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0)
        x.in[k] = rule(v.o).k == kind::kernel
                      ? dense(g_, plain(v.in[k]))
                      : operand_plain(v.in[k], rule(v.o).k == kind::reduction ? at(v.in[0]).s : v.s);
    made_[i].plain = v.o == op::input ? g_.input(static_cast<int>(v.attr), v.t, v.s, is_pattern_leaf(v))
                                      : renewed(v, x, v.s);
  }

public:
  constexpr explicit layout_rewriter(const program<N, O>& p) : p_(p), images_(images_of_sweep(p.nodes, N)) {}

  // channels_last: the convolutions that run so.   .broken where the new program is none.
  constexpr raw_program with(const vec<char>& channels_last) {
    find_wanted(channels_last);
    for (int i = 0; i < N; ++i) {
      const node& v = at(i);
      g_.in_adjoint = v.adjoint;
      if (is_view(v.o)) continue; // made when they are read
      if (channels_last[i] != 0) make_conv(i);
      else if (follows(i)) make_last(i);
      else make_plain(i);
    }
    vec<int> outputs;
    for (int k = 0; k < O; ++k) {
      g_.in_adjoint = at(p_.outputs[k]).adjoint;
      outputs.push_back(plain(p_.outputs[k]));
    }
    raw_program r = compact(g_, outputs);
    r.broken = g_.broken;
    return r;
  }
};

// What the reorders of a program cost, in ns of Backend. Images that pass a few at a time, all or selected ones, are
// reordered so: others are read again long after.
template <class Backend, class Nodes> constexpr double reorder_cost(const Nodes& nodes, int n) {
  const bool sweeps = images_of_sweep(nodes, n) > 0;
  const auto in_sweep = [&](extent_t images) {
    for (int i = 0; sweeps && i < n; ++i)
      if (is_conv(nodes[i].o) && batch_tiling_of(nodes, i).n == images) return true;
    return false;
  };
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    const node& v = nodes[i];
    if (v.o != op::copy || nodes[v.in[0]].o != op::transpose || v.s.rank != 4) continue;
    const auto elements = static_cast<double>(coefficient(numel(v.s)));
    sum += in_sweep(v.s.d[0]) ? Backend::image_reorder_ns(elements) : Backend::reorder_ns(elements);
  }
  return sum;
}

// Has the program images? Others stay as they are.
template <int N, int O> constexpr bool has_images(const program<N, O>& p) {
  for (int i = 0; i < N; ++i)
    if (is_batch_tiled(p.nodes[i].o)) return true;
  return false;
}

template <class Backend, int N, int O> constexpr raw_program assign_layouts(const program<N, O>& p) {
  struct costs {
    int of = no_node; // the first convolution of these extents
    double written = 0, last = 0;
  };
  vec<costs> different;
  vec<char> all(N, 0), gaining(N, 0);
  double written = 0, all_last = 0, best_of_each = 0;
  int convs = 0, gains = 0;
  for (int i = 0; i < N; ++i) {
    node v = p.nodes[i];
    if (!is_conv(v.o)) continue;
    const shape q[2] = {p.nodes[v.in[0]].s, p.nodes[v.in[1]].s};
    v.t = p.nodes[v.in[0]].t;
    const auto same = [&](const node& u) {
      return u.o == v.o && p.nodes[u.in[0]].t == v.t && u.attr == v.attr && u.attr2 == v.attr2 &&
             u.s == v.s && p.nodes[u.in[0]].s == q[0] && p.nodes[u.in[1]].s == q[1];
    };
    costs c;
    for (const costs& d : different)
      if (same(p.nodes[d.of])) c = d;
    if (c.of < 0) {
      c.of = i;
      c.written = Backend::conv_ns(v, q[0], q[1]);
      v.attr2 |= channels_last_bit;
      if (v.o != op::conv_wgrad) v.s = permuted(v.s, to_channels_last);
      c.last = Backend::conv_ns(v, permuted(q[0], to_channels_last),
                                v.o == op::conv_wgrad ? permuted(q[1], to_channels_last) : q[1]);
      different.push_back(c);
    }
    written += c.written;
    all_last += c.last;
    best_of_each += c.last < c.written ? c.last : c.written;
    all[i] = 1;
    gaining[i] = c.last < c.written ? 1 : 0;
    ++convs;
    gains += gaining[i];
  }
  // a program as written is taken where nothing is cheaper
  raw_program best;
  for (int i = 0; i < N; ++i) best.nodes.push_back(p.nodes[i]);
  for (int k = 0; k < O; ++k) best.outputs.push_back(p.outputs[k]);
  const double reorders = reorder_cost<Backend>(p.nodes, N);
  double cost = written + reorders;
  const auto consider = [&](const vec<char>& channels_last, double convolutions) {
    const raw_program r = layout_rewriter<N, O>(p).with(channels_last);
    const double c = convolutions + reorder_cost<Backend>(r.nodes, r.nodes.size());
    if (r.broken.found || c >= cost) return;
    cost = c;
    best = r;
  };
  if ((gains > 0 || reorders > 0) && all_last < cost) consider(all, all_last);
  if (gains > 0 && gains < convs && best_of_each < cost) consider(gaining, best_of_each);
  return best;
}

} // namespace tapeless::detail
