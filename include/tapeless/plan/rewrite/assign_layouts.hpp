// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// assign_layouts: the layouts of convolutions that suit the whole program. In the user's program images are NCHW, (N,
// C, H, W); a convolution may also run in NHWC, (N, H, W, C). The weights stay as the user has them. The back end says
// what a convolution and a reorder cost. The cheapest of these assignments is taken:
//   as written | all in NHWC | those in NHWC that gain by it
#pragma once
#include "../../expr/program.hpp"
#include "../../ops/shape.hpp"
#include "../../ops/window.hpp"
#include "layout_rewriter.hpp"

namespace tapeless::detail {

// The cost of a program's reorders, in ns of the cost model. A reorder in a sweep over batch tiles is cheaper: the tile is still
// in a cache.
template <class Cost, class Nodes> constexpr double reorder_cost(const Nodes& nodes, int n) {
  const bool sweeps = batch_sweep_images(nodes, n) > 0;
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
    sum += in_sweep(v.s.d[0]) ? Cost::image_reorder_ns(elements) : Cost::reorder_ns(elements);
  }
  return sum;
}

// Has the program convolutions or pools? If not, it stays as it is.
template <int N, int O> constexpr bool has_images(const program<N, O>& p) {
  for (int i = 0; i < N; ++i)
    if (is_batch_tiled(p.nodes[i].o)) return true;
  return false;
}

template <class Cost, int N, int O> constexpr raw_program assign_layouts(const program<N, O>& p) {
  struct costs {
    int of = no_node; // the first convolution of these extents
    double written = 0, nhwc = 0;
  };
  vec<costs> different;
  vec<char> all(N, 0), gaining(N, 0);
  double written = 0, all_nhwc = 0, best_of_each = 0;
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
      c.written = Cost::conv_ns(v, q[0], q[1]);
      v.attr2 |= nhwc_bit;
      if (v.o != op::conv_wgrad) v.s = permuted(v.s, to_nhwc);
      c.nhwc =
          Cost::conv_ns(v, permuted(q[0], to_nhwc), v.o == op::conv_wgrad ? permuted(q[1], to_nhwc) : q[1]);
      different.push_back(c);
    }
    written += c.written;
    all_nhwc += c.nhwc;
    best_of_each += c.nhwc < c.written ? c.nhwc : c.written;
    all[i] = 1;
    gaining[i] = c.nhwc < c.written ? 1 : 0;
    ++convs;
    gains += gaining[i];
  }
  // the program as written, unless another is cheaper
  raw_program best;
  for (int i = 0; i < N; ++i) best.nodes.push_back(p.nodes[i]);
  for (int k = 0; k < O; ++k) best.outputs.push_back(p.outputs[k]);
  const double reorders = reorder_cost<Cost>(p.nodes, N);
  double cost = written + reorders;
  const auto consider = [&](const vec<char>& convs_in_nhwc, double convolutions) {
    const raw_program r = layout_rewriter<N, O>(p).with(convs_in_nhwc);
    const double c = convolutions + reorder_cost<Cost>(r.nodes, r.nodes.size());
    if (r.broken.found || c >= cost) return;
    cost = c;
    best = r;
  };
  if ((gains > 0 || reorders > 0) && all_nhwc < cost) consider(all, all_nhwc);
  if (gains > 0 && gains < convs && best_of_each < cost) consider(gaining, best_of_each);
  return best;
}

} // namespace tapeless::detail
