// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The limits of the attributes of convolution and pooling.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace tl = tapeless;

namespace {

constexpr tl::pool inner{.kernel = 2, .stride = 1, .count_padding = false};
constexpr tl::pool bordered{.kernel = 2, .stride = 1, .padding = 1, .count_padding = false};
constexpr auto mean_inner = [](auto x) { return tl::avg_pool2d<inner>(x); };
constexpr auto mean_all = [](auto x) { return tl::avg_pool2d<tl::pool{.kernel = 2, .stride = 1}>(x); };

} // namespace

TEST_CASE("padding = same: an output sums the taps that meet the image, up to 255 on each side") {
  using X = tl::tensor<float, 1, 1, 1, 300>;
  using W = tl::tensor<float, 1, 1, 1, 511>;
  tl::owned<X> x;
  tl::owned<W> w;
  std::fill(x->begin(), x->end(), 1.0f);
  std::fill(w->begin(), w->end(), 1.0f);
  auto run =
      tl::jit([](auto a, auto b) { return tl::conv2d<tl::conv{.padding = tl::same}>(a, b); }).bind<X, W>();
  const auto y = run(*x, *w);
  REQUIRE(y.size() == 300);
  for (int q = 0; q < 300; ++q) CHECK(y[q] == std::min(299, q + 255) - std::max(0, q - 255) + 1);
}

TEST_CASE("avg_pool2d counts no taps where there is no padding to leave out") {
  using X = tl::tensor<float, 2, 3, 5, 6>;
  constexpr tl::cost a = tl::jit(mean_inner).cost<X>(), b = tl::jit(mean_all).cost<X>();
  CHECK(a.primal.flops.at() == b.primal.flops.at());
  CHECK(a.primal.steps == b.primal.steps);
  tl::owned<X> x;
  std::fill(x->begin(), x->end(), 3.0f);
  auto padded = tl::jit([](auto v) { return tl::avg_pool2d<bordered>(v); }).bind<X>();
  for (const float e : padded(*x)) CHECK(e == 3.0f);
}
