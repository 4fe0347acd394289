#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Images (N, H, W, C): the cases of convolution and pooling, which then run in NHWC.
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/conv.hpp>
#include <reference/elementwise.hpp>
#include <reference/pool.hpp>
#include <reference/shape.hpp>

namespace nhwc_laws {

namespace tl = tapeless;
using namespace laws;
using tl::conv;
using tl::layout;
using tl::padding2;
using tl::pair2;
using tl::pool;

constexpr tl::extent_t n = tl::dyn<'n'>;

template <class F> auto on_planes(F f) {
  return [f](const auto& x) { return ref::transpose(f(ref::transpose(x, {0, 3, 1, 2})), {0, 2, 3, 1}); };
}
template <conv C, int W> constexpr auto convolution(const char* name) {
  return pair(
      name,
      [](const auto&... a) {
        const auto t = std::tie(a...);
        constexpr conv c = [] {
          conv last = C;
          last.layout = layout::nhwc;
          return last;
        }();
        return tl::conv2d<c>(std::get<0>(t), std::get<W>(t));
      },
      [](const auto&... a) {
        const auto t = std::tie(a...);
        const auto& w = std::get<W>(t);
        const ref::conv2d_config c{C.stride.h,       C.stride.w,     C.padding.top,
                                   C.padding.bottom, C.padding.left, C.padding.right,
                                   C.dilation.h,     C.dilation.w,   C.groups};
        return on_planes([&](const auto& x) { return ref::conv2d(x, w, c); })(std::get<0>(t));
      },
      64, scale::terms);
}
template <pool P> constexpr ref::pool2d_config config() {
  const tl::pair2 stride = tl::detail::attributes_of(P).stride;
  return {P.kernel.h,       P.kernel.w,     stride.h,        stride.w,     P.padding.top,
          P.padding.bottom, P.padding.left, P.padding.right, P.dilation.h, P.dilation.w};
}
// The squares make the second derivative other than 0.
template <pool P> constexpr auto largest(const char* name) {
  return pair(
      name, [](const auto& x, const auto&...) { return tl::square(tl::max_pool2d<P>(x)); },
      [](const auto& x, const auto&...) {
        return ref::square(on_planes([](const auto& p) { return ref::max_pool2d(p, config<P>()); })(x));
      },
      2);
}
template <pool P> constexpr auto average(const char* name) {
  return pair(
      name, [](const auto& x, const auto&...) { return tl::square(tl::avg_pool2d<P>(x)); },
      [](const auto& x, const auto&...) {
        return ref::square(
            on_planes([](const auto& p) { return ref::avg_pool2d(p, config<P>(), P.count_padding); })(x));
      },
      64, scale::terms);
}

template <class T> using wide_arguments = arguments<tl::tensor<T, 2, 7, 9, 4>, tl::tensor<T, 3, 4, 3, 3>,
                                                    tl::tensor<T, 5, 4, 1, 1>, tl::tensor<T, 2, 4, 2, 5>>;
inline constexpr auto wide = cases<wide_arguments<double>>(
    convolution<conv{}, 1>("3x3"), //
    convolution<conv{.padding = 1}, 1>("3x3, padding 1"),
    convolution<conv{.stride = 2, .padding = 1}, 1>("3x3, stride 2, padding 1"),
    convolution<conv{.stride = pair2(1, 2), .padding = padding2(2, 1)}, 1>(
        "3x3, stride (1, 2), padding (2, 1)"),
    convolution<conv{.padding = padding2(0, 2, 1, 3)}, 1>("3x3, four different paddings"),
    convolution<conv{.padding = 2, .dilation = 2}, 1>("3x3, padding 2, dilation 2"),
    convolution<conv{.stride = 2, .padding = padding2(1, 0, 0, 2), .dilation = pair2(2, 1)}, 1>(
        "3x3, all different"),
    convolution<conv{}, 2>("1x1"), //
    convolution<conv{.stride = 2}, 2>("1x1, stride 2"), convolution<conv{}, 3>("2x5"));
template <class T>
using grouped_arguments =
    arguments<tl::tensor<T, 2, 5, 6, 18>, tl::tensor<T, 6, 9, 3, 3>, tl::tensor<T, 18, 1, 3, 3>,
              tl::tensor<T, 36, 1, 2, 2>, tl::tensor<T, 3, 18, 5, 6>>;
inline constexpr auto grouped = cases<grouped_arguments<double>>(
    convolution<conv{.groups = 2}, 1>("groups 2"), //
    convolution<conv{.stride = 2, .padding = 1, .groups = 2}, 1>("groups 2, stride 2, padding 1"),
    convolution<conv{.padding = 1, .groups = 18}, 2>("depthwise"),
    convolution<conv{.stride = 2, .padding = 2, .dilation = 2, .groups = 18}, 2>(
        "depthwise, stride 2, dilation 2"),
    convolution<conv{.stride = 3, .groups = 18}, 3>("depthwise, two filters a channel, stride 3"),
    convolution<conv{}, 4>("kernel = image"));
template <class T> using named_arguments = arguments<tl::tensor<T, n, 6, 5, 3>, tl::tensor<T, 4, 3, 3, 3>>;
inline constexpr auto named =
    cases<named_arguments<double>>(convolution<conv{.padding = 1}, 1>("3x3 of n images"),
                                   convolution<conv{.stride = 2}, 1>("3x3 of n images, stride 2"),
                                   largest<pool{.kernel = 2, .layout = layout::nhwc}>("max 2x2 of n images"));

// wide enough for minimal filtering: tests/cpu/conv.cpp
template <class T> using filtered_arguments =
    arguments<tl::tensor<T, 2, 8, 9, 40>, tl::tensor<T, 40, 40, 3, 3>>;
inline constexpr auto filtered = cases<filtered_arguments<double>>(
    convolution<conv{.padding = 1}, 1>("3x3 of 40 channels, padding 1"),
    convolution<conv{.padding = 2, .dilation = 2}, 1>("3x3 of 40 channels, padding 2, dilation 2"));

template <class T> using pooled_arguments = arguments<tl::tensor<T, 2, 7, 9, 21>>;
inline constexpr auto maxima = cases<pooled_arguments<double>>(
    largest<pool{.kernel = 2, .layout = layout::nhwc}>("max 2x2"),
    largest<pool{.kernel = 3, .stride = 2, .padding = 1, .layout = layout::nhwc}>(
        "max 3x3, stride 2, padding 1"),
    largest<pool{.kernel = {2, 3},
                 .stride = {3, 1},
                 .padding = {1, 0, 2, 1},
                 .dilation = {1, 2},
                 .layout = layout::nhwc}>("max, all different"));
inline constexpr auto means = cases<pooled_arguments<double>>(
    average<pool{.kernel = 2, .layout = layout::nhwc}>("mean 2x2"),
    average<pool{.kernel = 3, .stride = 2, .padding = 1, .count_padding = false, .layout = layout::nhwc}>(
        "mean 3x3, stride 2, padding 1 not counted"),
    average<pool{.kernel = {7, 9}, .layout = layout::nhwc}>("mean of the image"));

inline const std::vector<domain> anywhere{{-1, 1}}, distinct{{-1, 1, true}};

} // namespace nhwc_laws
