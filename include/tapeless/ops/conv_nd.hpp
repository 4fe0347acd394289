// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Convolutions of other ranks, built from conv2d:
//   conv1d  an image of height 1
//   conv3d  a conv2d with channels (c, t): unfold.hpp puts the planes under a filter side by side
#pragma once
#include "../core/tensor.hpp"
#include "bf16.hpp"
#include "conv.hpp"
#include "shape.hpp"
#include "unfold.hpp"
#include "window.hpp"

namespace tapeless {

// (before, after); one number is used for both.
struct padding1 {
  int before = 0, after = 0;
  constexpr padding1(int both) : before(both), after(both) {}
  constexpr padding1(int first, int last) : before(first), after(last) {}
  constexpr padding1(same_padding) : padding1(same_padding::number) {}
  friend constexpr bool operator==(const padding1&, const padding1&) = default;
};

// Attributes of conv1d, with the meaning and the ranges of those of conv2d.
struct conv1 {
  int stride = 1;
  padding1 padding{0};
  int dilation = 1;
  int groups = 1;
};

// (depth, height, width); one number is used for all.
struct triple {
  int d = 1, h = 1, w = 1;
  constexpr triple(int all) : d(all), h(all), w(all) {}
  constexpr triple(int depth, int height, int width) : d(depth), h(height), w(width) {}
  friend constexpr bool operator==(const triple&, const triple&) = default;
};
// Zeros around a volume. One number is used for all sides, three for (front and back, top and bottom, left and right).
struct padding3 {
  padding1 depth{0};
  padding2 plane{0};
  constexpr padding3(int all) : depth(all), plane(all) {}
  constexpr padding3(int d, int h, int w) : depth(d), plane(h, w) {}
  constexpr padding3(int front, int back, int top, int bottom, int left, int right)
      : depth(front, back), plane(top, bottom, left, right) {}
  constexpr padding3(same_padding s) : depth(s), plane(s) {}
  constexpr padding3(padding1 d, padding2 sides)
      : depth(d), plane(sides) {} // as nvcc writes a template argument
  friend constexpr bool operator==(const padding3&, const padding3&) = default;
};

// Attributes of conv3d, with the meaning and the ranges of those of conv2d.
struct conv3 {
  triple stride{1};
  padding3 padding{0};
  triple dilation{1};
  int groups = 1;
  int winograd = 2;
};

namespace detail {

template <int Rank>
concept has_three_axes = Rank == 3;
template <int Rank>
concept has_five_axes = Rank == 5;

// ---- conv1d
template <conv1 C> inline constexpr conv as_conv2d{
    .stride = {1, C.stride},
    .padding =
        C.padding == padding1(same) ? padding2(same) : padding2{0, 0, C.padding.before, C.padding.after},
    .dilation = {1, C.dilation},
    .groups = C.groups};
constexpr shape with_height_1(const shape& s) { return {4, {s.d[0], s.d[1], 1, s.d[2]}}; }
constexpr shape without_height(const shape& s) { return {3, {s.d[0], s.d[1], s.d[3]}}; }

// ---- conv3d
constexpr axis_window depth_window(const conv3& c, extent_t depth, extent_t taps) {
  const int t = static_cast<int>(taps);
  window_attributes a{
      {c.stride.d, 1}, {c.padding.depth.before, c.padding.depth.after, 0, 0}, {c.dilation.d, 1}};
  if (c.padding == padding3(same)) {
    a.padding = same;
    a = resolved(a, depth, 1, t, 1);
  }
  return {t, a.stride.h, a.padding.top, a.padding.bottom, a.dilation.h};
}
template <conv3 C> inline constexpr conv plane_conv{.stride = {C.stride.h, C.stride.w},
                                                    .padding = C.padding.plane,
                                                    .dilation = {C.dilation.h, C.dilation.w},
                                                    .groups = C.groups,
                                                    .winograd = C.winograd};
// (K, C/groups, T, R, S) as weights of a plane
constexpr shape plane_weights(const shape& w) { return {4, {w.d[0], times(w.d[1], w.d[2]), w.d[3], w.d[4]}}; }
// y: (N D', K, P, Q) -> (N, D', K, P, Q)
constexpr shape with_depth(const shape& y, extent_t n, extent_t depth) {
  return {5, {n, depth, y.d[1], y.d[2], y.d[3]}};
}
inline constexpr std::uint64_t depth_behind_channels = 0x43120; // (N, D', K, P, Q) -> (N, K, D', P, Q)
// f, a convolution of images, on signals: x and w get height 1, and the result loses it. rule: of their ranks; that of
// types is asserted where f is known.
template <class X, class W, class F> constexpr auto on_images_of_height_1(const X& x, const W& w,
                                                                          const char* rule, const F& f) {
  graph& g = graph_of(x, w);
  if constexpr (any_var<X, W>) {
    const shape sx = g[x.id()].s, sw = g[w.id()].s;
    require(g, sx.rank == 3 && sw.rank == 3, rule, sx, sw);
    if (!g.sound()) return var{&g, x.id()};
    const var y =
        f(var{&g, reshape(g, x.id(), with_height_1(sx))}, var{&g, reshape(g, w.id(), with_height_1(sw))});
    return g.sound() ? var{&g, reshape(g, y.node, without_height(y.dims()))} : y;
  } else if constexpr (has_three_axes<X::extents.rank> && has_three_axes<W::extents.rank>) {
    using T = typename X::value_type;
    using Image = basic_tensor<T, with_height_1(X::extents)>;
    using Weights = basic_tensor<typename W::value_type, with_height_1(W::extents)>;
    const auto y =
        f(Image{&g, reshape(g, x.id(), Image::extents)}, Weights{&g, reshape(g, w.id(), Weights::extents)});
    constexpr shape sy = without_height(decltype(y)::extents);
    return wrap<product_type<T>, sy>(g, reshape(g, y.id(), sy));
  } else return x;
}
template <auto C>
concept positive_depth =
    C.stride.d >= 1 && in_byte(C.stride.d) && C.dilation.d >= 1 && in_byte(C.dilation.d) &&
    (C.padding == padding3(same) || (in_byte(C.padding.depth.before) && in_byte(C.padding.depth.after)));
template <extent_t Depth, extent_t Taps>
concept depths_static = positive_number(Depth) && positive_number(Taps);
template <axis_window A>
concept front_and_back_fit = in_byte(A.front) && in_byte(A.back);

} // namespace detail

// conv1d<conv1{.stride = 2}>(x, w): y[n,k,p] = sum_{c,r} x[n, c, p stride - before + r dilation] w[k, c, r]
//   x: (N, C, L)   w: (K, C/groups, R)   result: (N, K, P), P as of conv2d
// Errors: compile errors, as of conv2d. Cost: 2 N K P (C/groups) R flops, less the taps on padding.
template <conv1 Attributes = conv1{}, detail::handle X, detail::handle W> constexpr auto conv1d(const X& x,
                                                                                                const W& w) {
  using namespace detail;
  if constexpr (!any_var<X, W>) {
    static_assert(has_three_axes<X::extents.rank>, "tapeless: conv1d<conv1>(x, w): x is (N, C, L)");
    static_assert(has_three_axes<W::extents.rank>, "tapeless: conv1d<conv1>(x, w): w is (K, C/groups, R)");
  }
  return on_images_of_height_1(
      x, w, "tapeless: conv1d<conv1>(x, w): x is (N, C, L), w is (K, C/groups, R)",
      [](const auto& image, const auto& filters) { return conv2d<as_conv2d<Attributes>>(image, filters); });
}

// conv3d<conv3{.padding = 1}>(x, w): conv2d with a third axis,
//   y[n,k,o,p,q] = sum_{c,t,r,s} x[n, c, o stride - front + t dilation, ...] w[k, c, t, r, s]
//   x: (N, C, D, H, W)   w: (K, C/groups, T, R, S)   result: (N, K, D', P, Q), each as P of conv2d
// Errors: compile errors, as of conv2d; D and T are static and at least 1.
// Cost: 2 N K D' P Q (C/groups) T R S flops, less the taps on padding in the planes; x is copied T times, y once.
template <conv3 Attributes = conv3{}, detail::handle X, detail::handle W> constexpr auto conv3d(const X& x,
                                                                                                const W& w) {
  using namespace detail;
  graph& g = graph_of(x, w);
  static_assert(positive_depth<Attributes>,
                "tapeless: convolution(x, w): stride and dilation are 1 to 255, padding is 0 to 255");
  static_assert(at_least_one_group<Attributes.groups>, "tapeless: convolution(x, w): groups is at least 1");
  constexpr conv a = plane_conv<Attributes>;
  if constexpr (any_var<X, W>) {
    const shape sx = g[x.id()].s, sw = g[w.id()].s;
    require(g, sx.rank == 5 && sw.rank == 5,
            "tapeless: conv3d<conv3>(x, w): x is (N, C, D, H, W), w is (K, C/groups, T, R, S)", sx, sw);
    require(g, positive_number(sx.d[2]) && positive_number(sw.d[2]),
            "tapeless: convolution(x, w): the depths of x and w are static and at least 1", sx, sw);
    require(g, positive_number(sw.d[1]) && positive_number(sw.d[0]),
            "tapeless: convolution(x, w): the channels and filters are static and at least 1", sx, sw);
    if (!g.sound() || Attributes.groups < 1) return var{&g, x.id()};
    require(g, sx.d[1] == sw.d[1] * Attributes.groups,
            "tapeless: convolution(x, w): the channels of x are groups times those of w", sx, sw);
    const axis_window depth = depth_window(Attributes, sx.d[2], sw.d[2]);
    require(g, in_byte(depth.front) && in_byte(depth.back),
            "tapeless: convolution(x, w): the padding that same stands for is at most 255", sx, sw);
    require(g, depth.count(sx.d[2]) > 0, "tapeless: convolution(x, w): the kernel fits into the padded image",
            sx, sw);
    if (!g.sound()) return var{&g, x.id()};
    const var y =
        conv2d<a>(var{&g, unfold(g, x.id(), depth)}, var{&g, reshape(g, w.id(), plane_weights(sw))});
    if (!g.sound()) return y;
    return var{&g, transpose(g, reshape(g, y.node, with_depth(y.dims(), sx.d[0], depth.count(sx.d[2]))),
                             depth_behind_channels)};
  } else {
    constexpr shape sx = X::extents, sw = W::extents;
    static_assert(has_five_axes<sx.rank>, "tapeless: conv3d<conv3>(x, w): x is (N, C, D, H, W)");
    static_assert(has_five_axes<sw.rank>, "tapeless: conv3d<conv3>(x, w): w is (K, C/groups, T, R, S)");
    if constexpr (has_five_axes<sx.rank> && has_five_axes<sw.rank> && positive_depth<Attributes>) {
      static_assert(depths_static<sx.d[2], sw.d[2]>,
                    "tapeless: convolution(x, w): the depths of x and w are static and at least 1");
      static_assert(channels_static<sw.d[1], sw.d[0]>,
                    "tapeless: convolution(x, w): the channels and filters are static and at least 1");
      static_assert(channels_agree<sx.d[1], sw.d[1], Attributes.groups>,
                    "tapeless: convolution(x, w): the channels of x are groups times those of w");
      if constexpr (depths_static<sx.d[2], sw.d[2]> && channels_static<sw.d[1], sw.d[0]> &&
                    channels_agree<sx.d[1], sw.d[1], Attributes.groups>) {
        constexpr axis_window depth = depth_window(Attributes, sx.d[2], sw.d[2]);
        static_assert(front_and_back_fit<depth>,
                      "tapeless: convolution(x, w): the padding that same stands for is at most 255");
        static_assert(kernel_fits<sx.d[2] + depth.front + depth.back, spread(depth.taps, depth.dilation)>,
                      "tapeless: convolution(x, w): the kernel fits into the padded image");
        if constexpr (depth.count(sx.d[2]) > 0 && front_and_back_fit<depth>) {
          using T = typename X::value_type;
          using Image = basic_tensor<T, unfolded(sx, depth)>;
          using Weights = basic_tensor<typename W::value_type, plane_weights(sw)>;
          const auto y = conv2d<a>(Image{&g, unfold(g, x.id(), depth)},
                                   Weights{&g, reshape(g, w.id(), Weights::extents)});
          constexpr shape sy = with_depth(decltype(y)::extents, sx.d[0], depth.count(sx.d[2]));
          return wrap<product_type<T>, permuted(sy, depth_behind_channels)>(
              g, transpose(g, reshape(g, y.id(), sy), depth_behind_channels));
        } else return x;
      } else return x;
    } else return x;
  }
}

} // namespace tapeless
