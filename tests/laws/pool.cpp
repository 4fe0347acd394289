// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/pool.hpp>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;

template <tl::pool P> ref::pool2d_config config(const ref::dims& x) {
  const tl::pair2 stride = tl::detail::attributes_of(P).stride;
  ref::pool2d_config c{P.kernel.h,       P.kernel.w,     stride.h,        stride.w,     P.padding.top,
                       P.padding.bottom, P.padding.left, P.padding.right, P.dilation.h, P.dilation.w};
  if (P.padding == tl::same) {
    const auto total = [](std::int64_t extent, std::int64_t step, std::int64_t reach) {
      return std::max<std::int64_t>(((extent + step - 1) / step - 1) * step + reach - extent, 0);
    };
    const std::int64_t v = total(x[2], c.stride_y, (c.height - 1) * c.dilation_y + 1),
                       u = total(x[3], c.stride_x, (c.width - 1) * c.dilation_x + 1);
    c.top = v / 2, c.bottom = v - v / 2, c.left = u / 2, c.right = u - u / 2;
  }
  return c;
}
// The squares make the second derivative other than 0.
template <tl::pool P> constexpr auto largest(const char* name) {
  return pair(
      name, [](const auto& x) { return tl::square(tl::max_pool2d<P>(x)); },
      [](const auto& x) { return ref::square(ref::max_pool2d(x, config<P>(x.shape))); }, rounds_once);
}
template <tl::pool P> constexpr auto average(const char* name) {
  return pair( // up to 63 taps, each of two factors off by half their number
      name, [](const auto& x) { return tl::square(tl::avg_pool2d<P>(x)); },
      [](const auto& x) { return ref::square(ref::avg_pool2d(x, config<P>(x.shape), P.count_padding)); }, 64,
      scale::terms);
}
// x_bar with the pool's own result as cotangent
template <tl::pool P> constexpr auto transposed_largest(const char* name) {
  return pair(
      name,
      [](const auto& x) {
        constexpr auto f = [](const auto& a) { return tl::max_pool2d<P>(a); };
        return tl::vjp<0>(f)(x, f(x));
      },
      [](const auto& x) {
        const auto at = ref::window_argmax(x, config<P>(x.shape));
        return ref::window_scatter(ref::max_pool2d(x, config<P>(x.shape)), at, x.shape[2], x.shape[3]);
      });
}
// y_dot with the image as tangent
template <tl::pool P> constexpr auto pushed_largest(const char* name) {
  return pair(
      name, [](const auto& x) { return tl::jvp([](const auto& a) { return tl::max_pool2d<P>(a); })(x, x); },
      [](const auto& x) { return ref::window_gather(x, ref::window_argmax(x, config<P>(x.shape))); });
}
template <tl::pool P> constexpr auto transposed_average(const char* name) {
  return pair(
      name,
      [](const auto& x) {
        constexpr auto f = [](const auto& a) { return tl::avg_pool2d<P>(a); };
        return tl::vjp<0>(f)(x, f(x));
      },
      [](const auto& x) {
        using T = typename std::remove_cvref_t<decltype(x)>::value_type;
        const ref::pool2d_config c = config<P>(x.shape);
        const auto taps = ref::divisor<T>(x.shape, c, P.count_padding);
        return ref::window_sum_transpose(ref::window_sum(x, c) / taps / taps, x.shape, c);
      });
}
using tl::padding2;
using tl::pair2;
using tl::pool;

template <class T> using images = arguments<tl::tensor<T, 2, 3, 7, 9>>;
constexpr auto maxima = cases<images<double>>(
    largest<pool{.kernel = 2}>("max 2x2"),
    largest<pool{.kernel = 3, .stride = 1, .padding = 1}>("max 3x3, stride 1, padding 1"),
    largest<pool{.kernel = pair2(3, 2), .stride = pair2(2, 3), .padding = padding2(0, 1, 1, 0)}>(
        "max 3x2, all different"),
    largest<pool{.kernel = 2, .padding = tl::same, .dilation = 2}>("max 2x2, dilation 2, padding same"),
    largest<pool{.kernel = pair2(7, 9)}>("max, kernel = image"),
    largest<pool{.kernel = 1, .stride = 2}>("max 1x1, stride 2"));
constexpr auto averages = cases<images<double>>(
    average<pool{.kernel = 2}>("avg 2x2"),
    average<pool{.kernel = 3, .stride = 1, .padding = 1}>("avg 3x3, stride 1, padding 1"),
    average<pool{.kernel = 3, .stride = 2, .padding = 1, .count_padding = false}>(
        "avg 3x3, taps inside the image"),
    average<pool{.kernel = 2, .count_padding = false}>("avg 2x2, no tap outside the image"),
    average<pool{.kernel = pair2(3, 2), .stride = pair2(2, 3), .padding = padding2(0, 1, 1, 0)}>(
        "avg 3x2, all different"),
    average<pool{.kernel = 2, .padding = tl::same, .dilation = 2}>("avg 2x2, dilation 2, padding same"),
    average<pool{.kernel = pair2(7, 9)}>("avg, kernel = image"));
constexpr auto named = cases<arguments<tl::tensor<double, n, 2, 5, 4>>>(
    largest<pool{.kernel = 2}>("max of n images"),
    average<pool{.kernel = 2, .stride = 1}>("avg of n images"));

constexpr auto transposes = cases<images<double>>(
    transposed_largest<pool{.kernel = 2}>("max 2x2"),
    transposed_largest<pool{.kernel = pair2(3, 2), .stride = pair2(2, 3), .padding = padding2(0, 1, 1, 0)}>(
        "max 3x2, all different"),
    pushed_largest<pool{.kernel = 3, .stride = 2, .padding = 1}>("max 3x3, the tangent"),
    transposed_average<pool{.kernel = 3, .stride = 1, .padding = 1}>("avg 3x3, stride 1, padding 1"),
    transposed_average<pool{.kernel = 3, .stride = 2, .padding = 1, .count_padding = false}>(
        "avg 3x3, taps inside the image"));

static_assert(covers(tl::detail::pool_rules, maxima, averages) && counts(tl::detail::pool_rules, transposes));
static_assert(!covers(tl::detail::pool_rules, maxima));
const std::vector<domain> distinct{{-1, 1, true}};

} // namespace

TEST_CASE("max_pool2d: the laws hold") { check_laws(maxima, no_names, distinct); }
TEST_CASE("avg_pool2d: the laws hold") { check_laws(averages, no_names, distinct); }
TEST_CASE("pool2d: the laws hold for a batch of any size") { check_laws(named, {0, 1, 2, 7}, distinct); }
TEST_CASE("pool2d: the flops of the transposes are those of the reference") { check_flops(transposes); }
TEST_CASE("pool2d: float equals the reference") {
  check_values(with<images<float>>(maxima), no_names, distinct);
  check_values(with<images<float>>(averages), no_names, distinct);
}
