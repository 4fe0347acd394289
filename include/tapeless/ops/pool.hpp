// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// max_pool2d:  y = window_max(x)            vjp: x_bar += window_scatter(y_bar, i), i = window_argmax(x)
// avg_pool2d:  y = window_sum(x) / taps     vjp: x_bar += window_spread(y_bar / taps)
//   y = window_gather(x, i) is the transpose of window_scatter; the factor 1 / taps is an attribute of sum and spread
//   x: (N, C, H, W)   y: (N, C, P, Q)   i: int32, row-major position in the (H, W) plane
// The first maximum in row-major order wins; padding is never the maximum.
#pragma once
#include "reduce.hpp"
#include "nhwc.hpp"
#include "window.hpp"

namespace tapeless {

// Attributes of the pools; one number is used for both axes, a pair is (height, width).
struct pool {
  pair2 kernel{2};           // taps of a window, 1 to 255
  pair2 stride{0};           // step between windows, 1 to 255; 0: the kernel's extent, as in PyTorch
  padding2 padding{0};       // around the image, 0 to 255, less than the kernel; or `same`, as for conv
  pair2 dilation{1};         // step between taps, 1 to 255
  bool count_padding = true; // avg_pool2d divides by all taps; otherwise by those inside the image
  tapeless::layout layout = tapeless::layout::nchw; // of x and y in the program
};

namespace detail {

constexpr bool slides(op o) { return o >= op::window_max && o <= op::window_spread; }
constexpr window_attributes attributes_of(const pool& p) {
  return {{p.stride.h == 0 ? p.kernel.h : p.stride.h, p.stride.w == 0 ? p.kernel.w : p.stride.w},
          p.padding,
          p.dilation};
}
constexpr std::uint64_t pack_kernel(const pair2& k) {
  return static_cast<std::uint64_t>(k.h) | (static_cast<std::uint64_t>(k.w) << 16);
}
inline constexpr std::uint64_t mean_of_taps = std::uint64_t{1} << 32; // in a packed kernel: times 1 / taps
constexpr bool is_mean(std::uint64_t k) { return (k & mean_of_taps) != 0; }
constexpr pair2 unpack_kernel(std::uint64_t k) {
  return {static_cast<int>(k & 0xffff), static_cast<int>((k >> 16) & 0xffff)};
}
constexpr shape pool_shape(const shape& x, const pair2& k, const window_attributes& a) {
  return {
      4,
      {x.d[0], x.d[1], window_count(x.d[2], a.padding.top, a.padding.bottom, k.h, a.dilation.h, a.stride.h),
       window_count(x.d[3], a.padding.left, a.padding.right, k.w, a.dilation.w, a.stride.w)}};
}
constexpr int window_node(graph& g, op o, int a, int index, std::uint64_t packed, std::uint64_t kernel,
                          shape s) {
  node v;
  v.o = o;
  v.t = o == op::window_argmax ? dtype::i32 : g[a].t;
  v.attr = packed;
  v.attr2 = kernel;
  v.in[0] = dense(g, a);
  if (index >= 0) v.in[1] = index;
  v.s = s;
  return g.intern(v);
}
// The maximum of relus is the relu of the maximum, with the same cotangents: there are fewer relus, and x is not kept.
constexpr int max_pool(graph& g, int x, const pair2& k, const window_attributes& a) {
  const auto is_relu = [&](int i) { return g[i].o == op::relu; };
  const auto relu_of = [&](int i) { return unary(g, op::relu, max_pool(g, i, k, a)); };
  if (is_relu(x)) return relu_of(g[x].in[0]);
  if (g[x].o == op::transpose && is_relu(g[x].in[0]))
    return relu_of(transpose(g, g[g[x].in[0]].in[0], g[x].attr));
  const shape s = pool_shape(g[x].s, k, a);
  // A vjp reads the positions. Made here, they are computed with the maximum and x is not kept; without a vjp they are
  // dead.
  window_node(g, op::window_argmax, x, -1, pack(a), pack_kernel(k), s);
  return window_node(g, op::window_max, x, -1, pack(a), pack_kernel(k), s);
}
constexpr int avg_pool(graph& g, int x, const pair2& k, const window_attributes& a, bool count_padding) {
  const shape sx = g[x].s, s = pool_shape(sx, k, a);
  if (count_padding || a.padding == padding2{0})
    return window_node(g, op::window_sum, x, -1, pack(a), pack_kernel(k) | mean_of_taps, s);
  const int sum = window_node(g, op::window_sum, x, -1, pack(a), pack_kernel(k), s);
  // a run counts the taps inside the image: the sums of a plane of ones
  const int one = expand(g, g.constant(1, g[x].t), shape{4, {1, 1, sx.d[2], sx.d[3]}});
  return binary(
      g, op::div, sum,
      window_node(g, op::window_sum, one, -1, pack(a), pack_kernel(k), shape{4, {1, 1, s.d[2], s.d[3]}}));
}

template <pool P>
concept pool_attributes_valid = positive_byte(P.kernel) && valid(attributes_of(P));
// every window meets the image
constexpr bool pads_less_than_kernel(const pair2& k, const window_attributes& a) {
  return a.padding.top < spread(k.h, a.dilation.h) && a.padding.bottom < spread(k.h, a.dilation.h) &&
         a.padding.left < spread(k.w, a.dilation.w) && a.padding.right < spread(k.w, a.dilation.w);
}

template <pool P, bool Max, class X> constexpr auto apply_pool(const X& x) {
  graph& g = graph_of(x);
  static_assert(pool_attributes_valid<P>,
                "tapeless: pool2d<pool>(x): kernel, stride and dilation are 1 to 255, padding is 0 to 255");
  const auto build = [&](const window_attributes& a) {
    return Max ? max_pool(g, x.id(), P.kernel, a) : avg_pool(g, x.id(), P.kernel, a, P.count_padding);
  };
  if constexpr (any_var<X>) {
    const shape s = g[x.id()].s;
    require(g, s.rank == 4 && is_float(g[x.id()].t),
            "tapeless: pool2d<pool>(x): x is (N, C, H, W) of float or double");
    require(g, is_static(s.d[2]) && is_static(s.d[3]) && s.d[2] >= 1 && s.d[3] >= 1,
            "tapeless: pool2d<pool>(x): the image extents are static and at least 1", s);
    if (!g.sound()) return var{&g, x.id()};
    const window_attributes a = resolved(attributes_of(P), s.d[2], s.d[3], P.kernel.h, P.kernel.w);
    require(g, in_byte(a.padding),
            "tapeless: pool2d<pool>(x): the padding that same stands for is at most 255", s);
    const shape y = pool_shape(s, P.kernel, a);
    require(g, y.d[2] > 0 && y.d[3] > 0, "tapeless: pool2d<pool>(x): the kernel fits into the padded image");
    require(g, pads_less_than_kernel(P.kernel, a),
            "tapeless: pool2d<pool>(x): the padding is smaller than the kernel");
    return var{&g, build(a)};
  } else {
    constexpr shape s = X::extents;
    static_assert(floating_point<typename X::value_type>,
                  "tapeless: pool2d<pool>(x): the element type is float or double");
    static_assert(has_four_axes<s.rank>, "tapeless: pool2d<pool>(x): x is (N, C, H, W)");
    if constexpr (has_four_axes<s.rank>) {
      static_assert(image_extents_static<s.d[2], s.d[3]>,
                    "tapeless: pool2d<pool>(x): the image extents are static and at least 1");
      if constexpr (image_extents_static<s.d[2], s.d[3]>) {
        constexpr window_attributes a = resolved(attributes_of(P), s.d[2], s.d[3], P.kernel.h, P.kernel.w);
        static_assert(padding_of_same_fits<a>,
                      "tapeless: pool2d<pool>(x): the padding that same stands for is at most 255");
        static_assert(
            kernel_fits<s.d[2] + a.padding.top + a.padding.bottom, spread(P.kernel.h, a.dilation.h)> &&
                kernel_fits<s.d[3] + a.padding.left + a.padding.right, spread(P.kernel.w, a.dilation.w)>,
            "tapeless: pool2d<pool>(x): the kernel fits into the padded image");
        static_assert(pads_less_than_kernel(P.kernel, a),
                      "tapeless: pool2d<pool>(x): the padding is smaller than the kernel");
        return wrap<typename X::value_type, pool_shape(s, P.kernel, a)>(g, build(a));
      } else return x;
    } else return x;
  }
}

template <pool P, bool Max, class X> constexpr auto apply_pool_in_layout(const X& x) {
  if constexpr (P.layout == layout::nchw) return apply_pool<P, Max>(x);
  else return as_nhwc(x, [](const auto& planes) { return apply_pool<of_planes<P>, Max>(planes); });
}

template <class X> inline constexpr bool attributes_given = false;
template <class X> constexpr X pool_without_attributes(const X& x) {
  static_assert(attributes_given<X>,
                "tapeless: pool2d<pool>(x): the attributes are a template argument, as in "
                "max_pool2d<pool{.kernel = 2}>(x)");
  return x;
}

} // namespace detail

// max_pool2d<pool{.kernel = 2}>(x): y[n,c,p,q] = max over the window's taps inside the image; a NaN is the maximum
//   x: (N, C, H, W)   y: (N, C, P, Q), P = floor((H + top + bottom - (kernel - 1) dilation - 1) / stride) + 1
//   with .layout = layout::nhwc:  x: (N, H, W, C)   y: (N, P, Q, C)
// max_pool2d(relu(x)) is traced as the relu of the maximum, with the same values and cotangents.
// Errors: compile errors. H and W are static, the padding is smaller than the kernel, the kernel fits.
// Cost: one flop for each tap that meets the image; a vjp takes one more and keeps the positions, int32.
template <pool P, detail::handle X> constexpr auto max_pool2d(const X& x) {
  return detail::apply_pool_in_layout<P, true>(x);
}
// avg_pool2d<pool{.kernel = 2}>(x): y[n,c,p,q] = sum over the window's taps inside the image / taps
// Shapes and errors are those of max_pool2d.
// Cost: one flop for each tap that meets the image and one for each element of y; with padding and
// count_padding = false every run also counts the taps, on one plane.
template <pool P, detail::handle X> constexpr auto avg_pool2d(const X& x) {
  return detail::apply_pool_in_layout<P, false>(x);
}
template <detail::handle X, class... More> constexpr X max_pool2d(const X& x, const More&...) {
  return detail::pool_without_attributes(x);
}
template <detail::handle X, class... More> constexpr X avg_pool2d(const X& x, const More&...) {
  return detail::pool_without_attributes(x);
}
template <std::integral auto First, auto... Rest, detail::handle X, class... More>
constexpr X max_pool2d(const X& x, const More&...) {
  return detail::pool_without_attributes(x);
}
template <std::integral auto First, auto... Rest, detail::handle X, class... More>
constexpr X avg_pool2d(const X& x, const More&...) {
  return detail::pool_without_attributes(x);
}

namespace detail {

constexpr count window_flops(const node& v, const shape* x) {
  const pair2 k = unpack_kernel(v.attr2);
  const window_attributes a = unpack(v.attr);
  const bool down = v.o == op::window_max || v.o == op::window_argmax || v.o == op::window_sum;
  const shape in = image_of(down ? x[0] : v.s, v.attr2), out = image_of(down ? v.s : x[0], v.attr2);
  return {taps_inside(in.d[2], out.d[2], a.padding.top, k.h, a.dilation.h, a.stride.h) *
                  taps_inside(in.d[3], out.d[3], a.padding.left, k.w, a.dilation.w, a.stride.w) +
              (is_mean(v.attr2) ? static_cast<double>(out.d[2] * out.d[3]) : 0),
          shape{2, {in.d[0], in.d[1]}}};
}
// clang-format off
inline constexpr op_rule pool_rules[] = {
  {op::window_max,     "window_max",     kind::kernel, window_flops, {.axes = first_axes, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = not_linear, .attr = attr_names::nothing}, [](vjp_context& c) {
     const int at = window_node(c.g, op::window_argmax, c.v.in[0], -1, c.v.attr, c.v.attr2, c.v.s);
     c.give(0, {&c.g, window_node(c.g, op::window_scatter, c.bar.node, at, c.v.attr, c.v.attr2, c.dims(0))}); }},
  {op::window_argmax,  "window_argmax",  kind::kernel, window_flops, {.axes = first_axes, .sums = no_sums, .zero = nowhere, .nonzero = nowhere, .linear = not_linear, .attr = attr_names::nothing}},
  {op::window_gather,  "window_gather",  kind::kernel, no_flops,     {.axes = first_axes, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = {operand_0}, .attr = attr_names::nothing}, [](vjp_context& c) {
     c.give(0, {&c.g, window_node(c.g, op::window_scatter, c.bar.node, c.v.in[1], c.v.attr, c.v.attr2, c.dims(0))}); }},
  {op::window_scatter, "window_scatter", kind::kernel, per_input<1>, {.axes = first_axes, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = {operand_0}, .attr = attr_names::nothing}, [](vjp_context& c) {
     c.give(0, {&c.g, window_node(c.g, op::window_gather, c.bar.node, c.v.in[1], c.v.attr, c.v.attr2, c.dims(0))}); }},
  {op::window_sum,     "window_sum",     kind::kernel, window_flops, {.axes = first_axes, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = {operand_0}, .attr = attr_names::nothing}, [](vjp_context& c) {
     c.give(0, {&c.g, window_node(c.g, op::window_spread, c.bar.node, -1, c.v.attr, c.v.attr2, c.dims(0))}); }},
  {op::window_spread,  "window_spread",  kind::kernel, window_flops, {.axes = first_axes, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = {operand_0}, .attr = attr_names::nothing}, [](vjp_context& c) {
     c.give(0, {&c.g, window_node(c.g, op::window_sum, c.bar.node, -1, c.v.attr, c.v.attr2, c.dims(0))}); }},
};
// clang-format on

} // namespace detail
} // namespace tapeless
