// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// y[n,k,p,q] = sum_{c,r,s} x[n, c, p*stride - pad + r*dil, q*stride - pad + s*dil] * w[k, c, r, s]
//   x: (N, C, H, W)   w: (K, C/groups, R, S)   y: (N, K, P, Q)        c runs over the group of k
// fprop, dgrad and wgrad are one trilinear form <y_bar, conv(x, w)>, each the derivative of the others:
// vjp:  x_bar += dgrad(y_bar, w)    w_bar += wgrad(x, y_bar)
// bf16 operands give float, as in matmul; their vjp rounds y_bar to bf16.
#pragma once
#include "bf16.hpp"
#include "keep.hpp"
#include "reduce.hpp"
#include "nhwc.hpp"
#include "window.hpp"

namespace tapeless {

// Attributes of conv2d; one number is used for both axes, a pair is (height, width).
struct conv {
  pair2 stride{1};     // step between windows, 1 to 255
  padding2 padding{0}; // zeros around the image, 0 to 255; `same` makes P = ceil(H / stride), Q likewise
  pair2 dilation{1};   // step between taps, 1 to 255
  int groups = 1;      // the j-th part of the filters reads the j-th part of the channels
  // the largest output tile of Winograd kernels, used where they are faster: 2, 4 (less exact) or 0 (none)
  int winograd = 2;
  tapeless::layout layout = tapeless::layout::nchw; // of x and y in the program
};

namespace detail {

constexpr bool is_conv(op o) { return o == op::conv_fprop || o == op::conv_dgrad || o == op::conv_wgrad; }
constexpr bool is_heavy(op o) { return o == op::matmul || is_conv(o); } // the dense products
constexpr window_attributes attributes_of(const conv& c) { return {c.stride, c.padding, c.dilation}; }
constexpr shape conv_shape(const shape& x, const shape& w, const window_attributes& a) {
  const int r = static_cast<int>(w.d[2]), s = static_cast<int>(w.d[3]);
  return {4,
          {x.d[0], w.d[0], window_count(x.d[2], a.padding.top, a.padding.bottom, r, a.dilation.h, a.stride.h),
           window_count(x.d[3], a.padding.left, a.padding.right, s, a.dilation.w, a.stride.w)}};
}
constexpr int groups_of(std::uint64_t options) { return static_cast<int>(options & 0xffffffffu); }
// One channel or one filter with windows of one pixel: elementwise products and their sum, which fuse. A sum over the
// channels of x stays a convolution, whose kernel keeps the sums in registers. So does every NHWC convolution.
constexpr bool is_product_of_pixels(op o, const shape& w, const window_attributes& a, std::uint64_t options) {
  return groups_of(options) == 1 && !is_nhwc(options) && w.d[2] == 1 && w.d[3] == 1 &&
         (w.d[1] == 1 || (w.d[0] == 1 && o != op::conv_fprop)) && a.stride.h == 1 && a.stride.w == 1 &&
         a.padding == padding2(0);
}
// The three forms differ in which of x, w, y is the result.
constexpr int conv_node(graph& g, op o, int a, int b, std::uint64_t packed, std::uint64_t options,
                        shape result) {
  const bool to_w = o == op::conv_wgrad;
  if (is_product_of_pixels(o, to_w ? result : g[b].s, unpack(packed), options)) {
    if (!to_w) b = reshape(g, b, shape{4, {1, times(g[b].s.d[0], g[b].s.d[1]), 1, 1}});
    const int each = binary(g, op::mul, widen(g, a), widen(g, b));
    return reshape(g,
                   to_w                                      ? sum(g, each, 0b1101)
                   : o == op::conv_dgrad && result.d[1] == 1 ? sum(g, each, 0b0010)
                                                             : each,
                   result);
  }
  return g.intern({.o = o,
                   .t = tangent_type(g[a].t),
                   .in = {dense(g, a), dense(g, b), no_node},
                   .attr = packed,
                   .attr2 = options,
                   .s = result});
}

// Kernels need numbers for the size of their scratch, and groups for their division of channels.
constexpr bool positive_number(extent_t e) { return is_static(e) && e >= 1; }
template <extent_t R, extent_t S>
concept kernel_extents_static = positive_number(R) && positive_number(S);
template <extent_t WeightChannels, extent_t Filters>
concept channels_static = positive_number(WeightChannels) && positive_number(Filters);
template <extent_t Channels, extent_t WeightChannels, int Groups>
concept channels_agree = Channels == WeightChannels * Groups;
template <extent_t Filters, int Groups>
concept groups_divide_the_filters = Groups == 1 || Filters % Groups == 0;
template <conv C>
concept positive_attributes = valid(attributes_of(C));
template <int Groups>
concept at_least_one_group = Groups >= 1;
template <int Tile>
concept known_filtering = Tile == 0 || Tile == 2 || Tile == 4;
// What a node stores besides the window.
constexpr std::uint64_t conv_options(int groups, int winograd) {
  return static_cast<std::uint32_t>(groups) | static_cast<std::uint64_t>(winograd) << 32;
}
constexpr int winograd_of(std::uint64_t options) { return static_cast<int>((options >> 32) & 0xff); }
constexpr std::uint64_t without_filtering(std::uint64_t options) {
  return options & ~(std::uint64_t{0xff} << 32);
}
// Leaves out channels and filters whose weights are zeros by construction (pad, keep), rounded to bf16 or not.
constexpr int convolve(graph& g, int x, int w, std::uint64_t packed, std::uint64_t options, shape result) {
  const int plain = g[w].o == op::narrow ? g[w].in[0] : w;
  const auto stored = [&](int kept) { return plain == w ? kept : narrow(g, kept); };
  if (g[plain].o == op::expand && g.is(g[plain].in[0], 0)) return zeros(g, tangent_type(g[x].t), result);
  if (groups_of(options) == 1) {
    vec<axis_run> channels, filters; // not in the ifs: nvcc 13.0 thinks that an object there is uninitialized
    if (find_runs(g, plain, 1, channels))
      return convolve(g, gather_runs(g, x, channels, 1), stored(spread_tensor(g, channels, 1)), packed,
                      options, result);
    if (find_runs(g, plain, 0, filters)) {
      const int kept = stored(spread_tensor(g, filters, 0));
      const int y = convolve(g, x, kept, packed, options, with_extent(result, 1, g[kept].s.d[0]));
      return spread_runs(g, y, filters, 1, result.d[1]);
    }
  }
  return conv_node(g, op::conv_fprop, x, w, packed, options, result);
}

// The rules for x and w of a convolution in either direction.
template <class T, class U, shape X, shape W, int Groups> constexpr bool operands_of_convolution() {
  static_assert((floating_point<T> || rounded<T>) && same_element_type<T, U>,
                "tapeless: convolution(x, w): both are float, both are double or both are bf16");
  static_assert(kernel_extents_static<W.d[2], W.d[3]>,
                "tapeless: convolution(x, w): the kernel extents are static and at least 1");
  static_assert(channels_static<W.d[1], W.d[0]>,
                "tapeless: convolution(x, w): the channels and filters are static and at least 1");
  static_assert(image_extents_static<X.d[2], X.d[3]>,
                "tapeless: convolution(x, w): the image extents are static and at least 1");
  static_assert(groups_divide_the_filters<W.d[0], Groups>,
                "tapeless: convolution(x, w): groups divides the filters of w");
  return kernel_extents_static<W.d[2], W.d[3]> && channels_static<W.d[1], W.d[0]> &&
         image_extents_static<X.d[2], X.d[3]>;
}
constexpr bool operands_of_convolution(graph& g, int x, int w, int groups) {
  const shape sx = g[x].s, sw = g[w].s;
  require(g, (is_float(g[x].t) || g[x].t == dtype::bf16) && g[x].t == g[w].t,
          "tapeless: convolution(x, w): both are float, both are double or both are bf16");
  require(g, positive_number(sw.d[2]) && positive_number(sw.d[3]),
          "tapeless: convolution(x, w): the kernel extents are static and at least 1", sx, sw);
  require(g, positive_number(sw.d[1]) && positive_number(sw.d[0]),
          "tapeless: convolution(x, w): the channels and filters are static and at least 1", sx, sw);
  require(g, positive_number(sx.d[2]) && positive_number(sx.d[3]),
          "tapeless: convolution(x, w): the image extents are static and at least 1", sx, sw);
  if (!g.sound() || groups < 1) return false; // no % 0 after the static_assert has failed
  require(g, sw.d[0] % groups == 0, "tapeless: convolution(x, w): groups divides the filters of w", sx, sw);
  return g.sound();
}

constexpr window_attributes conv_attributes(const conv& c, const shape& x, const shape& w) {
  return resolved(attributes_of(c), x.d[2], x.d[3], static_cast<int>(w.d[2]), static_cast<int>(w.d[3]));
}

} // namespace detail

// conv2d<conv{.stride = 2, .padding = 1}>(x, w): cross-correlation as in PyTorch, the formula above
//   x: (N, C, H, W)   w: (K, C/groups, R, S)   result: (N, K, P, Q)
//   with .layout = layout::nhwc:  x: (N, H, W, C)   result: (N, P, Q, K)
//   P = floor((H + top + bottom - (R - 1) dilation - 1) / stride) + 1, Q likewise
// bf16 operands give float: each product is exact, sums are float; Winograd kernels are not used.
// Errors: compile errors. x and w are of one floating-point type, all extents but N are static and at least 1; the
// kernel fits into the padded image.
// Cost: 2 N K P Q (C/groups) R S flops, less the taps on padding.
template <conv Attributes = conv{}, detail::handle X, detail::handle W> constexpr auto conv2d(const X& x,
                                                                                              const W& w) {
  using namespace detail;
  graph& g = graph_of(x, w);
  static_assert(positive_attributes<Attributes>,
                "tapeless: convolution(x, w): stride and dilation are 1 to 255, padding is 0 to 255");
  static_assert(at_least_one_group<Attributes.groups>, "tapeless: convolution(x, w): groups is at least 1");
  static_assert(known_filtering<Attributes.winograd>, "tapeless: convolution(x, w): winograd is 0, 2 or 4");
  constexpr std::uint64_t options = conv_options(Attributes.groups, Attributes.winograd);
  if constexpr (Attributes.layout == layout::nhwc) {
    return as_nhwc(x, [&](const auto& planes) { return conv2d<of_planes<Attributes>>(planes, w); });
  } else if constexpr (any_var<X, W>) {
    const shape sx = g[x.id()].s, sw = g[w.id()].s;
    require(g, sx.rank == 4 && sw.rank == 4,
            "tapeless: conv2d<conv>(x, w): x is (N, C, H, W), w is (K, C/groups, R, S)", sx, sw);
    if (!g.sound() || !operands_of_convolution(g, x.id(), w.id(), Attributes.groups)) return var{&g, x.id()};
    require(g, sx.d[1] == sw.d[1] * Attributes.groups,
            "tapeless: convolution(x, w): the channels of x are groups times those of w", sx, sw);
    const window_attributes a = conv_attributes(Attributes, sx, sw);
    require(g, in_byte(a.padding),
            "tapeless: convolution(x, w): the padding that same stands for is at most 255", sx, sw);
    const shape sy = conv_shape(sx, sw, a);
    require(g, sy.d[2] > 0 && sy.d[3] > 0,
            "tapeless: convolution(x, w): the kernel fits into the padded image", sx, sw);
    return var{&g, convolve(g, x.id(), w.id(), pack(a), options, sy)};
  } else {
    using T = typename X::value_type;
    constexpr shape sx = X::extents, sw = W::extents;
    static_assert(has_four_axes<sx.rank>, "tapeless: conv2d<conv>(x, w): x is (N, C, H, W)");
    static_assert(has_four_axes<sw.rank>, "tapeless: conv2d<conv>(x, w): w is (K, C/groups, R, S)");
    if constexpr (has_four_axes<sx.rank> && has_four_axes<sw.rank> && positive_attributes<Attributes> &&
                  at_least_one_group<Attributes.groups>) {
      constexpr bool operands =
          operands_of_convolution<T, typename W::value_type, sx, sw, Attributes.groups>();
      static_assert(channels_agree<sx.d[1], sw.d[1], Attributes.groups>,
                    "tapeless: convolution(x, w): the channels of x are groups times those of w");
      if constexpr (operands && channels_agree<sx.d[1], sw.d[1], Attributes.groups>) {
        constexpr window_attributes a = conv_attributes(Attributes, sx, sw);
        static_assert(padding_of_same_fits<a>,
                      "tapeless: convolution(x, w): the padding that same stands for is at most 255");
        constexpr int r = static_cast<int>(sw.d[2]), s = static_cast<int>(sw.d[3]);
        static_assert(kernel_fits<sx.d[2] + a.padding.top + a.padding.bottom, spread(r, a.dilation.h)> &&
                          kernel_fits<sx.d[3] + a.padding.left + a.padding.right, spread(s, a.dilation.w)>,
                      "tapeless: convolution(x, w): the kernel fits into the padded image");
        constexpr shape sy = conv_shape(sx, sw, a);
        return wrap<product_type<T>, sy>(g, convolve(g, x.id(), w.id(), pack(a), options, sy));
      } else return x;
    } else return x;
  }
}

namespace detail {

// One multiplication and one addition for each tap that meets the image.
constexpr count conv_count(const shape& image, const shape& w, const shape& result, const node& v) {
  const shape x = image_of(image, v.attr2), y = image_of(result, v.attr2);
  const window_attributes a = unpack(v.attr);
  const double rows =
      taps_inside(x.d[2], y.d[2], a.padding.top, static_cast<int>(w.d[2]), a.dilation.h, a.stride.h);
  const double columns =
      taps_inside(x.d[3], y.d[3], a.padding.left, static_cast<int>(w.d[3]), a.dilation.w, a.stride.w);
  return {2 * rows * columns, shape{3, {x.d[0], w.d[0], w.d[1]}}};
}
constexpr void conv_fprop_vjp(vjp_context& c) {
  graph& g = c.g;
  const int d = cotangent_of_product(c);
  if (c.needs(1)) c.give(1, {&g, conv_node(g, op::conv_wgrad, c.v.in[0], d, c.v.attr, c.v.attr2, c.dims(1))});
  if (c.needs(0)) c.give(0, {&g, conv_node(g, op::conv_dgrad, d, c.v.in[1], c.v.attr, c.v.attr2, c.dims(0))});
}
// x = dgrad(y, w)
constexpr void conv_dgrad_vjp(vjp_context& c) {
  graph& g = c.g;
  const int d = cotangent_of_product(c);
  if (c.needs(1)) c.give(1, {&g, conv_node(g, op::conv_wgrad, d, c.v.in[0], c.v.attr, c.v.attr2, c.dims(1))});
  if (c.needs(0)) c.give(0, {&g, conv_node(g, op::conv_fprop, d, c.v.in[1], c.v.attr, c.v.attr2, c.dims(0))});
}
// w = wgrad(x, y)
constexpr void conv_wgrad_vjp(vjp_context& c) {
  graph& g = c.g;
  const int d = cotangent_of_product(c);
  if (c.needs(1)) c.give(1, {&g, conv_node(g, op::conv_fprop, c.v.in[0], d, c.v.attr, c.v.attr2, c.dims(1))});
  if (c.needs(0)) c.give(0, {&g, conv_node(g, op::conv_dgrad, c.v.in[1], d, c.v.attr, c.v.attr2, c.dims(0))});
}
constexpr row_sum sums_over_images(const node&, const shape*, int k, const row_axis& from) {
  return {from.axis == 0, 1 - k, from};
}
// clang-format off
inline constexpr op_rule conv_rules[] = {
  {op::conv_fprop, "conv2d",       kind::kernel, [](const node& v, const shape* x) { return conv_count(x[0], x[1], v.s, v); },
   {.axes = first_axis_of_images, .sums = no_sums, .zero = {zero_0, zero_1}, .nonzero = nowhere, .linear = {operand_0, operand_1}, .attr = attr_names::nothing}, conv_fprop_vjp},
  {op::conv_dgrad, "conv2d_dgrad", kind::kernel, [](const node& v, const shape* x) { return conv_count(v.s, x[1], x[0], v); },
   {.axes = first_axis_of_images, .sums = no_sums, .zero = {zero_0, zero_1}, .nonzero = nowhere, .linear = {operand_0, operand_1}, .attr = attr_names::nothing}, conv_dgrad_vjp},
  {op::conv_wgrad, "conv2d_wgrad", kind::kernel, [](const node& v, const shape* x) { return conv_count(x[0], v.s, x[1], v); },
   {.axes = no_axes, .sums = sums_over_images, .zero = {zero_0, zero_1}, .nonzero = nowhere, .linear = {operand_0, operand_1}, .attr = attr_names::nothing}, conv_wgrad_vjp},
};
// clang-format on

} // namespace detail
} // namespace tapeless
