// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Transposed convolutions, as in PyTorch: the dgrad of a convolution as a forward pass,
//   y[n, c, p stride - top + r dilation, q stride - left + s dilation] += x[n, k, p, q] w[k, c, r, s]
//   conv_transpose1d  an image of height 1
//   conv_transpose2d  conv2d's dgrad
//   conv_transpose3d  planes of channels (c, t); fold adds those of one depth, see unfold.hpp
#pragma once
#include "../core/tensor.hpp"
#include "bf16.hpp"
#include "conv.hpp"
#include "conv_nd.hpp"
#include "shape.hpp"
#include "unfold.hpp"
#include "window.hpp"

namespace tapeless {

// Attributes of conv_transpose2d: those of the convolution whose dgrad it is.
struct conv_transpose {
  pair2 stride{1};         // step between the images of neighbouring elements, 1 to 255
  padding2 padding{0};     // rows and columns that are cut off the result, 0 to 255
  pair2 output_padding{0}; // rows added at the bottom and columns on the right, less than the stride
  pair2 dilation{1};       // step between taps, 1 to 255
  int groups = 1;          // the j-th part of the channels of x makes the j-th part of those of the result
  int winograd = 2;        // as in conv
};
// Attributes of conv_transpose1d and conv_transpose3d, with the meaning and the ranges of those of conv_transpose2d.
struct conv_transpose1 {
  int stride = 1;
  padding1 padding{0};
  int output_padding = 0;
  int dilation = 1;
  int groups = 1;
};
struct conv_transpose3 {
  triple stride{1};
  padding3 padding{0};
  triple output_padding{0};
  triple dilation{1};
  int groups = 1;
  int winograd = 2;
};

namespace detail {

// The extent n that `count` windows cover, plus `more` at the end.     @post a.count(n) == count if more < a.stride
constexpr extent_t transposed_extent(const axis_window& a, extent_t count, int more) {
  return (count - 1) * a.stride - a.front - a.back + spread(a.taps, a.dilation) + more;
}
template <int First>
concept padding_in_numbers = First != same_padding::number;
template <int OutputPadding, int Stride>
concept output_padding_below_stride = OutputPadding >= 0 && OutputPadding < Stride;
template <extent_t Channels, extent_t Filters>
concept one_filter_a_channel = Channels == Filters;

// ---- conv_transpose1d
template <conv_transpose1 C> inline constexpr conv_transpose as_conv_transpose2d{
    .stride = {1, C.stride},
    .padding =
        C.padding == padding1(same) ? padding2(same) : padding2{0, 0, C.padding.before, C.padding.after},
    .output_padding = {0, C.output_padding},
    .dilation = {1, C.dilation},
    .groups = C.groups};

// ---- conv_transpose2d
constexpr window_attributes attributes_of(const conv_transpose& c) {
  return {c.stride, c.padding, c.dilation};
}
// x: (N, K, P, Q)   w: (K, C/groups, R, S)   result: (N, C, H, W)
constexpr shape transposed_shape(const shape& x, const shape& w, const conv_transpose& c) {
  const axis_window v{static_cast<int>(w.d[2]), c.stride.h, c.padding.top, c.padding.bottom, c.dilation.h};
  const axis_window u{static_cast<int>(w.d[3]), c.stride.w, c.padding.left, c.padding.right, c.dilation.w};
  return {4,
          {x.d[0], w.d[1] * c.groups, transposed_extent(v, x.d[2], c.output_padding.h),
           transposed_extent(u, x.d[3], c.output_padding.w)}};
}
template <conv_transpose C>
concept positive_attributes_transposed = valid(attributes_of(C));
template <shape Y>
concept image_is_left = Y.d[2] >= 1 && Y.d[3] >= 1;

// ---- conv_transpose3d
template <conv_transpose3 C>
inline constexpr conv_transpose plane_conv_transpose{
    .stride = {C.stride.h, C.stride.w},
    .padding = C.padding.plane,
    .output_padding = {C.output_padding.h, C.output_padding.w},
    .dilation = {C.dilation.h, C.dilation.w},
    .groups = C.groups,
    .winograd = C.winograd};
constexpr axis_window depth_window(const conv_transpose3& c, extent_t taps) {
  return {static_cast<int>(taps), c.stride.d, c.padding.depth.before, c.padding.depth.after, c.dilation.d};
}
// x: (N, K, D', P, Q) -> (N D', K, P, Q)
constexpr shape planes_of(const shape& x) { return {4, {times(x.d[0], x.d[2]), x.d[1], x.d[3], x.d[4]}}; }
constexpr int to_planes(graph& g, int x) {
  return reshape(g, transpose(g, x, depth_behind_channels), planes_of(g[x].s));
}
// y: (N D', C taps, H, W)   result: (N, C, D, H, W)
constexpr shape folded(const shape& y, extent_t n, extent_t depth, int taps) {
  return {5, {n, y.d[1] / taps, depth, y.d[2], y.d[3]}};
}
template <extent_t Depth>
concept depth_is_left = Depth >= 1;

} // namespace detail

// conv_transpose2d<conv_transpose{.stride = 2}>(x, w): the formula above
//   x: (N, K, P, Q)   w: (K, C/groups, R, S)   result: (N, C, H, W)
//   H = (P - 1) stride - top - bottom + (R - 1) dilation + 1 + output_padding, W likewise
// Errors: compile errors. All extents but N are static and at least 1, K is that of w and a multiple of groups.
// Cost: 2 N K P Q (C/groups) R S flops, less the taps outside y.
template <conv_transpose Attributes = conv_transpose{}, detail::handle X, detail::handle W>
constexpr auto conv_transpose2d(const X& x, const W& w) {
  using namespace detail;
  graph& g = graph_of(x, w);
  static_assert(positive_attributes_transposed<Attributes>,
                "tapeless: convolution(x, w): stride and dilation are 1 to 255, padding is 0 to 255");
  static_assert(padding_in_numbers<Attributes.padding.top>,
                "tapeless: transposed convolution(x, w): the padding is numbers, not same");
  static_assert(output_padding_below_stride<Attributes.output_padding.h, Attributes.stride.h> &&
                    output_padding_below_stride<Attributes.output_padding.w, Attributes.stride.w>,
                "tapeless: transposed convolution(x, w): 0 <= output_padding < stride");
  static_assert(at_least_one_group<Attributes.groups>, "tapeless: convolution(x, w): groups is at least 1");
  static_assert(known_filtering<Attributes.winograd>, "tapeless: convolution(x, w): winograd is 0, 2 or 4");
  constexpr std::uint64_t options = conv_options(Attributes.groups, Attributes.winograd);
  const auto build = [&](const shape& y) {
    return conv_node(g, op::conv_dgrad, x.id(), w.id(), pack(attributes_of(Attributes)), options, y);
  };
  if constexpr (any_var<X, W>) {
    const shape sx = g[x.id()].s, sw = g[w.id()].s;
    require(g, sx.rank == 4 && sw.rank == 4,
            "tapeless: conv_transpose2d<conv_transpose>(x, w): x is (N, K, P, Q), w is (K, C/groups, R, S)",
            sx, sw);
    if (!g.sound() || !operands_of_convolution(g, x.id(), w.id(), Attributes.groups)) return var{&g, x.id()};
    require(g, sx.d[1] == sw.d[0],
            "tapeless: transposed convolution(x, w): the channels of x are the filters of w", sx, sw);
    const shape sy = transposed_shape(sx, sw, Attributes);
    require(g, sy.d[2] > 0 && sy.d[3] > 0,
            "tapeless: transposed convolution(x, w): the padding leaves an image", sx, sw);
    if (!g.sound()) return var{&g, x.id()};
    return var{&g, build(sy)};
  } else {
    using T = typename X::value_type;
    constexpr shape sx = X::extents, sw = W::extents;
    static_assert(has_four_axes<sx.rank>,
                  "tapeless: conv_transpose2d<conv_transpose>(x, w): x is (N, K, P, Q)");
    static_assert(has_four_axes<sw.rank>,
                  "tapeless: conv_transpose2d<conv_transpose>(x, w): w is (K, C/groups, R, S)");
    if constexpr (has_four_axes<sx.rank> && has_four_axes<sw.rank> &&
                  positive_attributes_transposed<Attributes> && padding_in_numbers<Attributes.padding.top> &&
                  at_least_one_group<Attributes.groups>) {
      constexpr bool operands =
          operands_of_convolution<T, typename W::value_type, sx, sw, Attributes.groups>();
      static_assert(one_filter_a_channel<sx.d[1], sw.d[0]>,
                    "tapeless: transposed convolution(x, w): the channels of x are the filters of w");
      if constexpr (operands) {
        constexpr shape sy = transposed_shape(sx, sw, Attributes);
        static_assert(image_is_left<sy>,
                      "tapeless: transposed convolution(x, w): the padding leaves an image");
        if constexpr (image_is_left<sy>) return wrap<product_type<T>, sy>(g, build(sy));
        else return x;
      } else return x;
    } else return x;
  }
}

// conv_transpose1d<conv_transpose1{.stride = 2}>(x, w): conv_transpose2d on images of height 1
//   x: (N, K, P)   w: (K, C/groups, R)   result: (N, C, L), L as H of conv_transpose2d
// Errors: compile errors, as of conv_transpose2d. Cost: 2 N K P (C/groups) R flops, less the taps outside y.
template <conv_transpose1 Attributes = conv_transpose1{}, detail::handle X, detail::handle W>
constexpr auto conv_transpose1d(const X& x, const W& w) {
  using namespace detail;
  if constexpr (!any_var<X, W>) {
    static_assert(has_three_axes<X::extents.rank>,
                  "tapeless: conv_transpose1d<conv_transpose1>(x, w): x is (N, K, P)");
    static_assert(has_three_axes<W::extents.rank>,
                  "tapeless: conv_transpose1d<conv_transpose1>(x, w): w is (K, C/groups, R)");
  }
  return on_images_of_height_1(
      x, w, "tapeless: conv_transpose1d<conv_transpose1>(x, w): x is (N, K, P), w is (K, C/groups, R)",
      [](const auto& image, const auto& filters) {
        return conv_transpose2d<as_conv_transpose2d<Attributes>>(image, filters);
      });
}

// conv_transpose3d<conv_transpose3{.stride = 2}>(x, w): conv_transpose2d with a third axis,
//   y[n, c, o stride - front + t dilation, ...] += x[n, k, o, p, q] w[k, c, t, r, s]
//   x: (N, K, D', P, Q)   w: (K, C/groups, T, R, S)   result: (N, C, D, H, W), each as H of conv_transpose2d
// Errors: compile errors, as of conv_transpose2d; D' and T are static and at least 1.
// Cost: 2 N K D' P Q (C/groups) T R S flops, less the taps outside y in the planes, and one for each element of
// (N D', C T, H, W) whose depth is in y. These planes are stored; x is copied once.
template <conv_transpose3 Attributes = conv_transpose3{}, detail::handle X, detail::handle W>
constexpr auto conv_transpose3d(const X& x, const W& w) {
  using namespace detail;
  graph& g = graph_of(x, w);
  static_assert(positive_depth<Attributes>,
                "tapeless: convolution(x, w): stride and dilation are 1 to 255, padding is 0 to 255");
  static_assert(padding_in_numbers<Attributes.padding.depth.before>,
                "tapeless: transposed convolution(x, w): the padding is numbers, not same");
  static_assert(output_padding_below_stride<Attributes.output_padding.d, Attributes.stride.d>,
                "tapeless: transposed convolution(x, w): 0 <= output_padding < stride");
  constexpr conv_transpose a = plane_conv_transpose<Attributes>;
  if constexpr (any_var<X, W>) {
    const shape sx = g[x.id()].s, sw = g[w.id()].s;
    require(
        g, sx.rank == 5 && sw.rank == 5,
        "tapeless: conv_transpose3d<conv_transpose3>(x, w): x is (N, K, D', P, Q), w is (K, C/groups, T, R, S)",
        sx, sw);
    require(g, positive_number(sx.d[2]) && positive_number(sw.d[2]),
            "tapeless: convolution(x, w): the depths of x and w are static and at least 1", sx, sw);
    if (!g.sound()) return var{&g, x.id()};
    const axis_window depth = depth_window(Attributes, sw.d[2]);
    const extent_t d = transposed_extent(depth, sx.d[2], Attributes.output_padding.d);
    require(g, d > 0, "tapeless: transposed convolution(x, w): the padding leaves an image", sx, sw);
    if (!g.sound()) return var{&g, x.id()};
    const var y =
        conv_transpose2d<a>(var{&g, to_planes(g, x.id())}, var{&g, reshape(g, w.id(), plane_weights(sw))});
    if (!g.sound()) return y;
    return var{&g, unfold_node(g, op::fold, y.node, pack(depth), folded(y.dims(), sx.d[0], d, depth.taps))};
  } else {
    constexpr shape sx = X::extents, sw = W::extents;
    static_assert(has_five_axes<sx.rank>,
                  "tapeless: conv_transpose3d<conv_transpose3>(x, w): x is (N, K, D', P, Q)");
    static_assert(has_five_axes<sw.rank>,
                  "tapeless: conv_transpose3d<conv_transpose3>(x, w): w is (K, C/groups, T, R, S)");
    if constexpr (has_five_axes<sx.rank> && has_five_axes<sw.rank> && positive_depth<Attributes> &&
                  padding_in_numbers<Attributes.padding.depth.before>) {
      static_assert(depths_static<sx.d[2], sw.d[2]>,
                    "tapeless: convolution(x, w): the depths of x and w are static and at least 1");
      if constexpr (depths_static<sx.d[2], sw.d[2]>) {
        constexpr axis_window depth = depth_window(Attributes, sw.d[2]);
        constexpr extent_t d = transposed_extent(depth, sx.d[2], Attributes.output_padding.d);
        static_assert(depth_is_left<d>,
                      "tapeless: transposed convolution(x, w): the padding leaves an image");
        if constexpr (depth_is_left<d>) {
          using T = typename X::value_type;
          using Image = basic_tensor<T, planes_of(sx)>;
          using Weights = basic_tensor<typename W::value_type, plane_weights(sw)>;
          const auto y = conv_transpose2d<a>(Image{&g, to_planes(g, x.id())},
                                             Weights{&g, reshape(g, w.id(), Weights::extents)});
          constexpr shape sy = folded(decltype(y)::extents, sx.d[0], d, depth.taps);
          return wrap<product_type<T>, sy>(g, unfold_node(g, op::fold, y.id(), pack(depth), sy));
        } else return x;
      } else return x;
    } else return x;
  }
}

} // namespace tapeless
