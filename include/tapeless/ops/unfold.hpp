// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// unfold:  y[n D' + o, c T + t, h, w] = x[n, c, o stride - front + t dilation, h, w], zero outside x
// fold is its transpose: each element of x_bar is the sum of the elements of y_bar that were read from it.
//   x: (N, C, D, H, W)   y: (N D', C T, H, W)
// It turns a convolution over (d, h, w) into one over (h, w) with channels (c, t).
#pragma once
#include "shape.hpp"
#include "window.hpp"

namespace tapeless::detail {

// How a window of `taps` slides along one axis.
struct axis_window {
  int taps = 1, stride = 1, front = 0, back = 0, dilation = 1;
  constexpr extent_t count(extent_t n) const { return window_count(n, front, back, taps, dilation, stride); }
};
// one byte each, the taps above them
constexpr std::uint64_t pack(const axis_window& a) {
  return static_cast<std::uint64_t>(a.stride) | static_cast<std::uint64_t>(a.front) << 8 |
         static_cast<std::uint64_t>(a.back) << 16 | static_cast<std::uint64_t>(a.dilation) << 24 |
         static_cast<std::uint64_t>(a.taps) << 32;
}
constexpr axis_window unpack_axis(std::uint64_t p) {
  const auto at = [p](int i) { return static_cast<int>((p >> (8 * i)) & 255); };
  return {static_cast<int>(p >> 32), at(0), at(1), at(2), at(3)};
}

constexpr shape unfolded(const shape& x, const axis_window& a) {
  return {4, {times(x.d[0], a.count(x.d[2])), times(x.d[1], a.taps), x.d[3], x.d[4]}};
}
constexpr int unfold_node(graph& g, op o, int a, std::uint64_t packed, shape s) {
  return g.intern({.o = o, .t = g[a].t, .in = {dense(g, a), no_node, no_node}, .attr = packed, .s = s});
}
constexpr int unfold(graph& g, int x, const axis_window& a) {
  return unfold_node(g, op::unfold, x, pack(a), unfolded(g[x].s, a));
}

// one addition for each tap that meets x
constexpr count fold_flops(const node& v, const shape*) {
  const axis_window a = unpack_axis(v.attr);
  return {taps_inside(v.s.d[2], a.count(v.s.d[2]), a.front, a.taps, a.dilation, a.stride),
          shape{4, {v.s.d[0], v.s.d[1], v.s.d[3], v.s.d[4]}}};
}
// unfold makes images of planes: the rows of one image become those of its planes.
constexpr operand_rows unfold_axes(const node& v, const shape* x, int, const row_axis& at, extent_t) {
  const extent_t block = block_of(at.block, quotient(v.s.d[0], x[0].d[0]));
  if (at.axis != 0 || block <= 0)
    return {}; // an if: in a list the front end of nvcc fails on a ? : with such a condition
  return {row_axis{0, block}};
}
constexpr operand_rows fold_axes(const node& v, const shape* x, int, const row_axis& at, extent_t) {
  const extent_t planes = quotient(x[0].d[0], v.s.d[0]);
  if (at.axis != 0 || planes <= 0) return {};
  return {row_axis{0, times(at.block, planes)}};
}
// clang-format off
inline constexpr op_rule unfold_rules[] = {
  {op::unfold, "unfold", kind::kernel, no_flops,   {.axes = unfold_axes, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = {operand_0}, .attr = attr_names::nothing}, [](vjp_context& c) { c.give(0, {&c.g, unfold_node(c.g, op::fold, c.bar.node, c.v.attr, c.dims(0))}); }},
  {op::fold,   "fold",   kind::kernel, fold_flops, {.axes = fold_axes, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = {operand_0}, .attr = attr_names::nothing}, [](vjp_context& c) { c.give(0, {&c.g, unfold_node(c.g, op::unfold, c.bar.node, c.v.attr, c.dims(0))}); }},
};
// clang-format on

} // namespace tapeless::detail
