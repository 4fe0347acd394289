// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// keep<axis, mask>(a): a where a mask known at compile time is true, zeros elsewhere. It is built as
//   spread(c): the elements of a smaller tensor c in runs along one axis, = sum over runs of pad(slice(c))
// Convolution recognises this form, and leaves out channels and filters that are zeros by construction.
#pragma once
#include <array>
#include "shape.hpp"

namespace tapeless {
namespace detail {

// Elements [offset, offset + extent) of an axis.
struct axis_run {
  extent_t offset = 0, extent = 0;
  int node = no_node; // what is padded
};
// Is `a` a sum of pads along the axis whose runs do not overlap? Then fills in the runs, in order.
constexpr bool find_runs(const graph& g, int a, int axis, vec<axis_run>& runs) {
  const node& v = g[a];
  if (v.o == op::add) {
    for (const int x : {v.in[0], v.in[1]})
      if (!(g[x].s == v.s) || !find_runs(g, x, axis, runs)) return false;
    return true;
  }
  if (v.o != op::pad || static_cast<int>(v.attr) != axis) return false;
  const axis_run r{static_cast<extent_t>(v.attr2), g[v.in[0]].s.d[axis], v.in[0]};
  if (!runs.empty() && runs.back().offset + runs.back().extent > r.offset) return false;
  runs.push_back(r);
  return true;
}
// c of spread(c). Runs that are consecutive slices of one tensor are that tensor.
constexpr int spread_tensor(graph& g, const vec<axis_run>& runs, int axis) {
  int whole = no_node;
  extent_t at = 0;
  for (const axis_run& r : runs) {
    int x = r.node;
    if (g[x].o == op::copy) x = g[x].in[0];
    const node& v = g[x];
    const bool next = v.o == op::slice && static_cast<int>(v.attr) == axis &&
                      static_cast<extent_t>(v.attr2) == at && (at == 0 || v.in[0] == whole);
    whole = next ? v.in[0] : no_node;
    if (!next) break;
    at += r.extent;
  }
  if (whole != no_node && g[whole].s.d[axis] == at) return whole;
  int c = runs[0].node;
  for (int k = 1; k < runs.size(); ++k) c = concat(g, c, runs[k].node, axis);
  return c;
}
// The runs of x, one after the other.
constexpr int gather_runs(graph& g, int x, const vec<axis_run>& runs, int axis) {
  int c = no_node;
  for (const axis_run& r : runs) {
    const int part = slice(g, x, axis, r.offset, r.extent);
    c = c == no_node ? part : concat(g, c, part, axis);
  }
  return c;
}
constexpr int spread_runs(graph& g, int c, const vec<axis_run>& runs, int axis, extent_t extent) {
  int sum = no_node;
  extent_t at = 0;
  for (const axis_run& r : runs) {
    const int part = pad(g, slice(g, c, axis, at, r.extent), axis, r.offset, extent - r.offset - r.extent);
    sum = sum == no_node ? part : binary(g, g[c].t == dtype::boolean ? op::logical_or : op::add, sum, part);
    at += r.extent;
  }
  return sum;
}

template <std::size_t N> constexpr vec<axis_run> runs_of(const std::array<bool, N>& mask) {
  vec<axis_run> runs;
  for (std::size_t i = 0; i < N; ++i) {
    if (!mask[i]) continue;
    if (i > 0 && mask[i - 1]) ++runs.back().extent;
    else runs.push_back({static_cast<extent_t>(i), 1, no_node});
  }
  return runs;
}
constexpr int keep(graph& g, int a, int axis, const vec<axis_run>& runs) {
  const shape s = g[a].s;
  if (runs.empty()) return zeros(g, g[a].t, s);
  // a mask of another axis stays outside
  for (int other = 0; other < s.rank; ++other) {
    vec<axis_run> r;
    if (other != axis && find_runs(g, a, other, r))
      return spread_runs(g, keep(g, spread_tensor(g, r, other), axis, runs), r, other, s.d[other]);
  }
  return spread_runs(g, gather_runs(g, a, runs, axis), runs, axis, s.d[axis]);
}

template <extent_t N, std::size_t Mask>
concept mask_of_the_extent = is_static(N) && N == static_cast<extent_t>(Mask);

} // namespace detail

// keep<axis, mask>(a): y[.., i, ..] = mask[i] ? a[.., i, ..] : 0     mask: a constant std::array<bool, extent>
// Weights of conv2d that are masked like this along their channels or filters cost only what the mask keeps; so do the
// gradients, which are zero where the mask is false.
// Errors: compile errors. The axis exists (negative: from the end); the mask has its extent, which is static.
// Cost: nothing if only convolutions read it; otherwise a copy for each run of the mask, and for each run after the
// first an addition for each element, which turns -0 into 0.
template <int Axis, auto Mask, detail::handle A> constexpr auto keep(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  constexpr std::size_t n = Mask.size();
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    const int axis = axis_of(Axis, s.rank);
    require(g, axis >= 0 && axis < s.rank, "tapeless: keep<axis, mask>(a): the axis exists", s);
    if (!g.sound()) return var{&g, a.id()};
    require(g, s.d[axis] == static_cast<extent_t>(n),
            "tapeless: keep<axis, mask>(a): the mask has the extent of the axis", s);
    if (!g.sound()) return var{&g, a.id()};
    return var{&g, keep(g, a.id(), axis, runs_of(Mask))};
  } else {
    static_assert(axis_in_range<Axis, A::extents.rank>, "tapeless: keep<axis, mask>(a): the axis exists");
    if constexpr (axis_in_range<Axis, A::extents.rank>) {
      constexpr int axis = axis_of(Axis, A::extents.rank);
      static_assert(mask_of_the_extent<A::extents.d[axis], n>,
                    "tapeless: keep<axis, mask>(a): the mask has the extent of the axis");
      if constexpr (mask_of_the_extent<A::extents.d[axis], n>)
        return wrap<typename A::value_type, A::extents>(g, keep(g, a.id(), axis, runs_of(Mask)));
      else return a;
    } else return a;
  }
}

} // namespace tapeless
