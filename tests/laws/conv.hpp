#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The cases of conv2d.
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/conv.hpp>
#include <reference/elementwise.hpp>

namespace conv_laws {

namespace tl = tapeless;
using namespace laws;

constexpr tl::extent_t n = tl::dyn<'n'>;

// The reference's attributes; padding `same` is resolved here, once more.
template <tl::conv C> ref::conv2d_config config(const ref::dims& x, const ref::dims& w) {
  ref::conv2d_config c{C.stride.h,      C.stride.w,   C.padding.top, C.padding.bottom, C.padding.left,
                       C.padding.right, C.dilation.h, C.dilation.w,  C.groups};
  if (C.padding == tl::same) {
    const auto total = [](std::int64_t extent, std::int64_t stride, std::int64_t reach) {
      const std::int64_t positions = (extent + stride - 1) / stride;
      return std::max<std::int64_t>((positions - 1) * stride + reach - extent, 0);
    };
    const std::int64_t v = total(x[2], c.stride_y, (w[2] - 1) * c.dilation_y + 1),
                       u = total(x[3], c.stride_x, (w[3] - 1) * c.dilation_x + 1);
    c.top = v / 2, c.bottom = v - v / 2, c.left = u / 2, c.right = u - u / 2;
  }
  return c;
}
template <tl::conv C, int X, int W> constexpr auto convolution(const char* name) {
  return pair(
      name,
      [](const auto&... a) {
        const auto t = std::tie(a...);
        return tl::conv2d<C>(std::get<X>(t), std::get<W>(t));
      },
      [](const auto&... a) {
        const auto t = std::tie(a...);
        const auto &x = std::get<X>(t), &w = std::get<W>(t);
        return ref::conv2d(x, w, config<C>(x.shape, w.shape));
      },
      32, scale::terms);
}
// 1 x 1 filters of one channel: y[n, k, p, q] = x[n, 0, p, q] w[k], one product each
template <tl::conv C, int X, int W> constexpr auto of_one_channel(const char* name) {
  return pair(
      name,
      [](const auto&... a) {
        const auto t = std::tie(a...);
        return tl::conv2d<C>(std::get<X>(t), std::get<W>(t));
      },
      []<class... A>(const A&... a) {
        const auto t = std::tie(a...);
        const auto &x = std::get<X>(t), &w = std::get<W>(t);
        std::remove_cvref_t<decltype(x)> y(ref::dims{x.shape[0], w.shape[0], x.shape[2], x.shape[3]});
        const std::size_t pixels = static_cast<std::size_t>(x.shape[2] * x.shape[3]), filters = w.data.size();
        for (std::size_t i = 0; i < y.data.size(); ++i)
          y.data[i] = x.data[i / (filters * pixels) * pixels + i % pixels] * w.data[i / pixels % filters];
        return y;
      },
      32, scale::terms);
}
// x_bar and w_bar of a convolution with its own result as cotangent
template <tl::conv C, int X, int W> constexpr auto transposed(const char* name) {
  return pair(
      name,
      [](const auto&... a) {
        constexpr auto f = [](const auto& x, const auto& w) { return tl::conv2d<C>(x, w); };
        const auto t = std::tie(a...);
        return tl::vjp<0, 1>(f)(std::get<X>(t), std::get<W>(t), f(std::get<X>(t), std::get<W>(t)));
      },
      [](const auto&... a) {
        const auto t = std::tie(a...);
        const auto &x = std::get<X>(t), &w = std::get<W>(t);
        const ref::conv2d_config c = config<C>(x.shape, w.shape);
        const auto y = ref::conv2d(x, w, c);
        return std::tuple{ref::conv2d_dgrad(y, w, x.shape, c), ref::conv2d_wgrad(x, y, w.shape, c)};
      });
}
using tl::conv;
using tl::padding2;
using tl::pair2;

template <class T> using wide_arguments = arguments<tl::tensor<T, 2, 4, 7, 9>, tl::tensor<T, 3, 4, 3, 3>,
                                                    tl::tensor<T, 5, 4, 1, 1>, tl::tensor<T, 2, 4, 2, 5>>;
inline constexpr auto strides = cases<wide_arguments<double>>(
    convolution<conv{}, 0, 1>("3x3"), //
    convolution<conv{.padding = 1}, 0, 1>("3x3, padding 1"),
    convolution<conv{.padding = tl::same}, 0, 1>("3x3, padding same"),
    convolution<conv{.stride = 2}, 0, 1>("3x3, stride 2"),
    convolution<conv{.stride = 2, .padding = 1}, 0, 1>("3x3, stride 2, padding 1"),
    convolution<conv{.stride = 3, .padding = tl::same}, 0, 1>("3x3, stride 3, padding same"),
    convolution<conv{.stride = pair2(1, 2), .padding = padding2(2, 1)}, 0, 1>(
        "3x3, stride (1, 2), padding (2, 1)"),
    convolution<conv{.padding = padding2(0, 2, 1, 3)}, 0, 1>("3x3, four different paddings"));
inline constexpr auto dilations = cases<wide_arguments<double>>(
    convolution<conv{.dilation = 2}, 0, 1>("3x3, dilation 2"), //
    convolution<conv{.padding = 2, .dilation = 2}, 0, 1>("3x3, padding 2, dilation 2"),
    convolution<conv{.stride = 2, .padding = tl::same, .dilation = 2}, 0, 1>(
        "3x3, stride 2, padding same, dilation 2"),
    convolution<conv{.stride = 2, .padding = padding2(1, 0, 0, 2), .dilation = pair2(2, 1)}, 0, 1>(
        "3x3, all different"),
    convolution<conv{}, 0, 2>("1x1"), //
    convolution<conv{.stride = 2}, 0, 2>("1x1, stride 2"),
    convolution<conv{.padding = 1}, 0, 2>("1x1, padding 1"), convolution<conv{}, 0, 3>("2x5"), //
    convolution<conv{.padding = tl::same}, 0, 3>("2x5, padding same"));
// 4 channels in groups of 2, depthwise, with a channel multiplier; kernel = image; one row; strides that leave a rest
template <class T>
using grouped_arguments =
    arguments<tl::tensor<T, 2, 4, 5, 6>, tl::tensor<T, 6, 2, 3, 3>, tl::tensor<T, 4, 1, 3, 3>,
              tl::tensor<T, 8, 1, 2, 2>, tl::tensor<T, 3, 4, 5, 6>, tl::tensor<T, 2, 4, 1, 4>>;
inline constexpr auto groups = cases<grouped_arguments<double>>(
    convolution<conv{.groups = 2}, 0, 1>("groups 2"), //
    convolution<conv{.stride = 2, .padding = 1, .groups = 2}, 0, 1>("groups 2, stride 2, padding 1"),
    convolution<conv{.padding = 1, .groups = 4}, 0, 2>("depthwise"),
    convolution<conv{.stride = 2, .padding = tl::same, .dilation = 2, .groups = 4}, 0, 2>(
        "depthwise, stride 2, dilation 2"),
    convolution<conv{.stride = 3, .groups = 4}, 0, 3>("depthwise, two filters a channel, stride 3"),
    convolution<
        conv{.stride = pair2(2, 1), .padding = padding2(2, 0, 1, 3), .dilation = pair2(1, 2), .groups = 2}, 0,
        1>("groups 2, all different"),
    convolution<conv{}, 0, 4>("kernel = image"), //
    convolution<conv{.padding = 2}, 0, 5>("one row of taps, padding 2"));
// a batch of any size
template <class T> using named_arguments = arguments<tl::tensor<T, n, 3, 6, 5>, tl::tensor<T, 4, 3, 3, 3>>;
inline constexpr auto named =
    cases<named_arguments<double>>(convolution<conv{.padding = 1}, 0, 1>("3x3 of n images"),
                                   convolution<conv{.stride = 2}, 0, 1>("3x3 of n images, stride 2"));

// one channel, one filter, one of each: products of pixels where nothing slides
template <class T> using pointwise_arguments =
    arguments<tl::tensor<T, n, 1, 4, 5>, tl::tensor<T, 3, 1, 1, 1>, tl::tensor<T, n, 3, 4, 5>,
              tl::tensor<T, 1, 3, 1, 1>, tl::tensor<T, 1, 1, 1, 1>>;
inline constexpr auto pointwise = cases<pointwise_arguments<double>>(
    of_one_channel<conv{}, 0, 1>("1x1 of one channel"), convolution<conv{}, 2, 3>("1x1 to one filter"),
    of_one_channel<conv{}, 0, 4>("1x1 of one channel to one filter"),
    convolution<conv{.stride = 2}, 0, 1>("1x1 of one channel, stride 2"),
    convolution<conv{.padding = 1}, 2, 3>("1x1 to one filter, padding 1"),
    of_one_channel<conv{.dilation = 2}, 0, 1>("1x1 of one channel, dilation 2"));

// extents at which 3x3 is done by minimal filtering
template <class T> using filtered_arguments =
    arguments<tl::tensor<T, 1, 40, 8, 9>, tl::tensor<T, 40, 40, 3, 3>>;
inline constexpr auto filtered = cases<filtered_arguments<double>>(
    convolution<conv{.padding = 1}, 0, 1>("3x3, tiles of 2x2"),
    convolution<conv{.padding = 1, .winograd = 0}, 0, 1>("3x3, the sums of the formula"));
template <class T>
using larger_tiles_arguments = arguments<tl::tensor<T, 1, 24, 20, 21>, tl::tensor<T, 25, 24, 3, 3>>;
inline constexpr auto larger_tiles = cases<larger_tiles_arguments<double>>(
    convolution<conv{.padding = tl::same, .winograd = 4}, 0, 1>("3x3, tiles of 4x4"));

inline constexpr auto transposes = cases<wide_arguments<double>>(
    transposed<conv{}, 0, 1>("3x3"), //
    transposed<conv{.stride = pair2(1, 2), .padding = padding2(2, 1)}, 0, 1>(
        "3x3, stride (1, 2), padding (2, 1)"),
    transposed<conv{.stride = 2, .padding = padding2(1, 0, 0, 2), .dilation = pair2(2, 1)}, 0, 1>(
        "3x3, all different"),
    transposed<conv{.padding = tl::same}, 0, 3>("2x5, padding same"));
inline constexpr auto grouped_transposes = cases<grouped_arguments<double>>(
    transposed<conv{.stride = 2, .padding = 1, .groups = 2}, 0, 1>("groups 2, stride 2, padding 1"),
    transposed<conv{.stride = 2, .padding = tl::same, .dilation = 2, .groups = 4}, 0, 2>(
        "depthwise, stride 2, dilation 2"));
inline constexpr auto named_transposes =
    cases<named_arguments<double>>(transposed<conv{.padding = 1}, 0, 1>("3x3 of n images"));

inline const std::vector<domain> anywhere{{-1, 1}};

} // namespace conv_laws
