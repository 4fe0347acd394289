#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The cases of convolutions over one and three axes, and of transposed ones.
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/conv_nd.hpp>

namespace conv_nd_laws {

namespace tl = tapeless;
using namespace laws;
using tl::conv1, tl::conv3, tl::conv_transpose, tl::conv_transpose1, tl::conv_transpose3, tl::padding1,
    tl::padding2, tl::padding3, tl::pair2, tl::triple;

constexpr tl::extent_t n = tl::dyn<'n'>;

// f(x, w) and its reference on arguments X and W of a case
template <int X, int W, auto F, auto Reference> constexpr auto on(const char* name) {
  return pair(
      name,
      [](const auto&... a) {
        const auto t = std::tie(a...);
        return F(std::get<X>(t), std::get<W>(t));
      },
      [](const auto&... a) {
        const auto t = std::tie(a...);
        return Reference(std::get<X>(t), std::get<W>(t));
      },
      32, scale::terms);
}
// `same`, resolved once more
inline ref::axis_config axis(std::int64_t extent, std::int64_t taps, int stride, padding1 padding,
                             int dilation) {
  if (!(padding == padding1(tl::same))) return {stride, padding.before, padding.after, dilation};
  const std::int64_t total = std::max<std::int64_t>(
      ((extent + stride - 1) / stride - 1) * stride + (taps - 1) * dilation + 1 - extent, 0);
  return {stride, total / 2, total - total / 2, dilation};
}

template <conv1 C, int X, int W> constexpr auto line(const char* name) {
  return on<X, W, [](const auto& x, const auto& w) { return tl::conv1d<C>(x, w); },
            [](const auto& x, const auto& w) {
              return ref::conv1d(x, w, axis(x.shape[2], w.shape[2], C.stride, C.padding, C.dilation),
                                 C.groups);
            }>(name);
}

template <conv3 C> ref::axis_config depth_axis(const ref::dims& x, const ref::dims& w) {
  return axis(x[2], w[2], C.stride.d, C.padding.depth, C.dilation.d);
}
template <conv3 C> auto plane_axes(const ref::dims& x, const ref::dims& w) {
  constexpr bool same = C.padding == padding3(tl::same);
  constexpr padding2 p = C.padding.plane;
  return std::pair{
      axis(x[3], w[3], C.stride.h, same ? padding1(tl::same) : padding1(p.top, p.bottom), C.dilation.h),
      axis(x[4], w[4], C.stride.w, same ? padding1(tl::same) : padding1(p.left, p.right), C.dilation.w)};
}
template <conv3 C, int X, int W> constexpr auto volume(const char* name) {
  return on<X, W, [](const auto& x, const auto& w) { return tl::conv3d<C>(x, w); },
            [](const auto& x, const auto& w) {
              const auto [h, v] = plane_axes<C>(x.shape, w.shape);
              const ref::axis_config a[3] = {depth_axis<C>(x.shape, w.shape), h, v};
              return ref::conv3d(x, w, a, C.groups);
            }>(name);
}
// x_bar of a sum of squares: unfold, the three forms of conv2d, fold
template <conv3 C, int X, int W> constexpr auto volume_gradient(const char* name) {
  return pair(
      name,
      [](const auto&... a) {
        constexpr auto f = [](const auto& x, const auto& w) { return tl::conv3d<C>(x, w); };
        const auto t = std::tie(a...);
        return tl::vjp<0>(f)(std::get<X>(t), std::get<W>(t), f(std::get<X>(t), std::get<W>(t)));
      },
      [](const auto&... a) {
        const auto t = std::tie(a...);
        const auto &x = std::get<X>(t), &w = std::get<W>(t);
        const ref::axis_config d = depth_axis<C>(x.shape, w.shape);
        const auto [h, v] = plane_axes<C>(x.shape, w.shape);
        const ref::conv2d_config c{h.stride, v.stride,   h.before,   h.after, v.before,
                                   v.after,  h.dilation, v.dilation, C.groups};
        const auto u = ref::unfold(x, d, w.shape[2]);
        auto plane = w;
        plane.shape = {w.shape[0], w.shape[1] * w.shape[2], w.shape[3], w.shape[4]};
        return ref::unfold_transposed(ref::conv2d_dgrad(ref::conv2d(u, plane, c), plane, u.shape, c), d,
                                      w.shape[2], x.shape);
      });
}

template <conv_transpose C, int X, int W> constexpr auto transposed(const char* name) {
  return on<X, W, [](const auto& x, const auto& w) { return tl::conv_transpose2d<C>(x, w); },
            [](const auto& x, const auto& w) {
              return ref::conv_transpose2d(
                  x, w,
                  {C.stride.h, C.stride.w, C.padding.top, C.padding.bottom, C.padding.left, C.padding.right,
                   C.dilation.h, C.dilation.w, C.groups},
                  C.output_padding.h, C.output_padding.w);
            }>(name);
}

template <conv_transpose1 C, int X, int W> constexpr auto transposed_line(const char* name) {
  return on<X, W, [](const auto& x, const auto& w) { return tl::conv_transpose1d<C>(x, w); },
            [](const auto& x, const auto& w) {
              return ref::conv_transpose1d(x, w, {C.stride, C.padding.before, C.padding.after, C.dilation},
                                           C.output_padding, C.groups);
            }>(name);
}
template <conv_transpose3 C, int X, int W> constexpr auto transposed_volume(const char* name) {
  return on<X, W, [](const auto& x, const auto& w) { return tl::conv_transpose3d<C>(x, w); },
            [](const auto& x, const auto& w) {
              constexpr padding2 p = C.padding.plane;
              constexpr triple more = C.output_padding;
              const ref::axis_config a[3] = {
                  {C.stride.d, C.padding.depth.before, C.padding.depth.after, C.dilation.d},
                  {C.stride.h, p.top, p.bottom, C.dilation.h},
                  {C.stride.w, p.left, p.right, C.dilation.w}};
              return ref::conv_transpose3d(x, w, a, {more.d, more.h, more.w}, C.groups);
            }>(name);
}

template <class T> using lines =
    arguments<tl::tensor<T, 2, 4, 11>, tl::tensor<T, 3, 4, 3>, tl::tensor<T, 6, 2, 4>, tl::tensor<T, 4, 1, 3>,
              tl::tensor<T, 2, 4, 1>, tl::tensor<T, 3, 4, 1>>;
inline constexpr auto line_cases = cases<lines<double>>(
    line<conv1{}, 0, 1>("3 taps"), line<conv1{.padding = tl::same}, 0, 1>("3 taps, padding same"),
    line<conv1{.padding = {2, 0}}, 0, 1>("3 taps, causal"),
    line<conv1{.stride = 3, .padding = {0, 2}, .dilation = 2}, 0, 1>("3 taps, all different"),
    line<conv1{.stride = 2, .padding = tl::same, .groups = 2}, 0, 2>(
        "4 taps, groups 2, stride 2, padding same"),
    line<conv1{.padding = 1, .groups = 4}, 0, 3>("depthwise"), line<conv1{}, 4, 5>("1 tap on 1 element"),
    line<conv1{.padding = 1}, 4, 1>("3 taps on 1 element"));
template <class T> using named_lines = arguments<tl::tensor<T, n, 3, 7>, tl::tensor<T, 2, 3, 3>>;
inline constexpr auto named_line_cases =
    cases<named_lines<double>>(line<conv1{.padding = 1}, 0, 1>("3 taps, n rows"));

template <class T>
using volumes =
    arguments<tl::tensor<T, 2, 2, 4, 5, 3>, tl::tensor<T, 3, 2, 2, 3, 3>, tl::tensor<T, 4, 1, 3, 2, 1>,
              tl::tensor<T, 1, 2, 1, 4, 3>, tl::tensor<T, 3, 2, 1, 1, 1>>;
inline constexpr auto volume_cases = cases<volumes<double>>(
    volume<conv3{}, 0, 1>("2x3x3"), volume<conv3{.padding = 1}, 0, 1>("2x3x3, padding 1"),
    volume<conv3{.padding = tl::same}, 0, 1>("2x3x3, padding same"),
    volume<conv3{.stride = 2, .padding = tl::same, .groups = 2}, 0, 2>(
        "3x2x1, groups 2, stride 2, padding same"),
    volume<conv3{.stride = {3, 1, 2}, .padding = {2, 1, 0, 1, 1, 0}, .dilation = {2, 1, 1}}, 0, 1>(
        "all different"),
    volume<conv3{}, 3, 4>("1x1x1 on one plane"),
    volume<conv3{.padding = {1, 0, 0}}, 3, 4>("planes of zeros"));
inline constexpr auto volume_gradients = cases<volumes<double>>(
    volume_gradient<conv3{.padding = 1}, 0, 1>("2x3x3, padding 1"),
    volume_gradient<conv3{.stride = {3, 1, 2}, .padding = {2, 1, 0, 1, 1, 0}, .dilation = {2, 1, 1}}, 0, 1>(
        "all different"));
template <class T> using named_volumes =
    arguments<tl::tensor<T, n, 2, 3, 3, 4>, tl::tensor<T, 2, 2, 2, 2, 2>>;
inline constexpr auto named_volume_cases =
    cases<named_volumes<double>>(volume<conv3{.stride = {1, 2, 1}}, 0, 1>("2x2x2 of n volumes"));

template <class T> using transposes = arguments<tl::tensor<T, 2, 4, 3, 5>, tl::tensor<T, 4, 3, 3, 3>,
                                                tl::tensor<T, 4, 1, 2, 4>, tl::tensor<T, 1, 4, 1, 1>>;
inline constexpr auto transposed_cases = cases<transposes<double>>(
    transposed<conv_transpose{}, 0, 1>("3x3"),
    transposed<conv_transpose{.padding = 1}, 0, 1>("3x3, padding 1"),
    transposed<conv_transpose{.stride = 2}, 0, 1>("3x3, stride 2"),
    transposed<conv_transpose{.stride = 2, .padding = 1, .output_padding = 1}, 0, 1>(
        "3x3, twice the extents"),
    transposed<
        conv_transpose{
            .stride = {3, 2}, .padding = padding2(0, 2, 1, 0), .output_padding = {2, 0}, .dilation = {1, 2}},
        0, 1>("3x3, all different"),
    transposed<conv_transpose{.stride = 3, .groups = 4}, 0, 2>("2x4, groups 4, stride 3"),
    transposed<conv_transpose{.groups = 2}, 0, 1>("3x3, groups 2"),
    transposed<conv_transpose{}, 3, 1>("one pixel"));

template <class T> using named_transposes = arguments<tl::tensor<T, n, 2, 3, 2>, tl::tensor<T, 2, 3, 2, 3>>;
inline constexpr auto named_transposed_cases = cases<named_transposes<double>>(
    transposed<conv_transpose{.stride = 2, .padding = 1}, 0, 1>("2x3, n images"));

template <class T> using transposed_lines =
    arguments<tl::tensor<T, 2, 4, 5>, tl::tensor<T, 4, 3, 3>, tl::tensor<T, 4, 2, 4>, tl::tensor<T, 4, 1, 1>,
              tl::tensor<T, 1, 4, 1>>;
inline constexpr auto transposed_line_cases = cases<transposed_lines<double>>(
    transposed_line<conv_transpose1{}, 0, 1>("3 taps"),
    transposed_line<conv_transpose1{.stride = 2, .padding = 1, .output_padding = 1}, 0, 1>(
        "3 taps, twice the extent"),
    transposed_line<conv_transpose1{.stride = 3, .padding = {0, 2}, .output_padding = 2, .dilation = 2}, 0,
                    1>("3 taps, all different"),
    transposed_line<conv_transpose1{.stride = 2, .padding = {3, 1}, .groups = 2}, 0, 2>(
        "4 taps, groups 2, stride 2"),
    transposed_line<conv_transpose1{.stride = 3, .groups = 4}, 0, 3>("1 tap, groups 4, stride 3"),
    transposed_line<conv_transpose1{}, 4, 3>("1 tap on 1 element"),
    transposed_line<conv_transpose1{.padding = 1}, 4, 1>("1 element is left"));
template <class T> using named_transposed_lines = arguments<tl::tensor<T, n, 3, 4>, tl::tensor<T, 3, 2, 3>>;
inline constexpr auto named_transposed_line_cases = cases<named_transposed_lines<double>>(
    transposed_line<conv_transpose1{.stride = 2, .padding = 1}, 0, 1>("3 taps, n rows"));

template <class T>
using transposed_volumes =
    arguments<tl::tensor<T, 2, 4, 3, 2, 3>, tl::tensor<T, 4, 2, 2, 3, 3>, tl::tensor<T, 4, 3, 3, 1, 2>,
              tl::tensor<T, 1, 4, 1, 1, 2>, tl::tensor<T, 4, 2, 1, 1, 1>>;
inline constexpr auto transposed_volume_cases = cases<transposed_volumes<double>>(
    transposed_volume<conv_transpose3{}, 0, 1>("2x3x3"),
    transposed_volume<conv_transpose3{.stride = 2, .padding = 1, .output_padding = 1}, 0, 1>(
        "2x3x3, stride 2, padding 1, output padding 1"),
    transposed_volume<conv_transpose3{.stride = {3, 1, 2},
                                      .padding = {0, 2, 1, 0, 0, 1},
                                      .output_padding = {2, 0, 1},
                                      .dilation = {2, 1, 1}},
                      0, 1>("2x3x3, all different"),
    transposed_volume<
        conv_transpose3{.stride = {1, 2, 1}, .padding = {1, 0, 0}, .dilation = {1, 1, 3}, .groups = 2}, 0, 2>(
        "3x1x2, groups 2"),
    transposed_volume<conv_transpose3{.stride = {2, 1, 3}, .groups = 4}, 0, 2>("3x1x2, groups 4"),
    transposed_volume<conv_transpose3{}, 3, 4>("1x1x1 on one plane"),
    transposed_volume<conv_transpose3{.padding = {1, 0, 0}}, 3, 2>("one plane is left"),
    transposed_volume<conv_transpose3{.stride = {3, 1, 1}, .output_padding = {2, 0, 0}}, 0, 4>(
        "1x1x1, planes between and behind"));
template <class T> using named_transposed_volumes =
    arguments<tl::tensor<T, n, 2, 2, 2, 3>, tl::tensor<T, 2, 3, 2, 2, 1>>;
inline constexpr auto named_transposed_volume_cases = cases<named_transposed_volumes<double>>(
    transposed_volume<conv_transpose3{.stride = {2, 1, 2}, .padding = {1, 0, 0}}, 0, 1>("2x2x1, n volumes"));

inline const std::vector<domain> anywhere{{-1, 1}};

} // namespace conv_nd_laws
