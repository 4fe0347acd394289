// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The limits of the attributes of convolution and pooling.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace tl = tapeless;

namespace {

constexpr tl::conv nhwc{.padding = 1, .layout = tl::layout::nhwc};
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

TEST_CASE("convolutions of one to three axes and their transposes: vars make the nodes of the handles") {
  const auto same_nodes = []<class X, class W>(auto f, const X&, const W&) {
    tl::detail::graph g;
    const X x(&g, g.input(0, tl::dtype::f32, X::extents));
    const W w(&g, g.input(1, tl::dtype::f32, W::extents));
    const auto y = f(x, w);
    const tl::var v = f(tl::var(x), tl::var(w)), u = f(tl::var(x), w);
    return y.id() == v.node && y.id() == u.node && v.dims() == decltype(y)::extents;
  };
  constexpr tl::extent_t n = tl::dyn<'n'>;
  using tl::tensor;
  constexpr bool all[] = {
      same_nodes([](auto x, auto w) { return tl::conv1d<tl::conv1{.stride = 2, .padding = tl::same}>(x, w); },
                 tensor<float, n, 4, 7>{}, tensor<float, 3, 4, 3>{}),
      same_nodes([](auto x, auto w) { return tl::conv2d<tl::conv{.padding = 1, .groups = 2}>(x, w); },
                 tensor<float, n, 4, 5, 6>{}, tensor<float, 6, 2, 3, 3>{}),
      same_nodes([](auto x, auto w) { return tl::conv3d<tl::conv3{.stride = {2, 1, 1}, .groups = 2}>(x, w); },
                 tensor<float, n, 4, 3, 5, 6>{}, tensor<float, 6, 2, 2, 3, 3>{}),
      same_nodes(
          [](auto x, auto w) {
            return tl::conv_transpose1d<tl::conv_transpose1{
                .stride = 2, .padding = {0, 1}, .output_padding = 1, .groups = 2}>(x, w);
          },
          tensor<float, n, 4, 5>{}, tensor<float, 4, 3, 3>{}),
      same_nodes(
          [](auto x, auto w) {
            return tl::conv_transpose2d<tl::conv_transpose{.stride = {1, 2}, .groups = 4, .winograd = 0}>(x,
                                                                                                          w);
          },
          tensor<float, n, 4, 5, 6>{}, tensor<float, 4, 3, 3, 3>{}),
      same_nodes(
          [](auto x, auto w) {
            return tl::conv_transpose3d<tl::conv_transpose3{.stride = {2, 1, 3},
                                                            .padding = {1, 0, 0, 0, 0, 1},
                                                            .output_padding = {1, 0, 2},
                                                            .groups = 2}>(x, w);
          },
          tensor<float, n, 4, 3, 2, 2>{}, tensor<float, 4, 3, 2, 3, 3>{})};
  for (const bool same : all) CHECK(same);
}

TEST_CASE("convolutions with a bias: the sum with a bias for the channel axis, of vars as of handles") {
  const auto same_nodes = []<class X, class W, class B>(auto with, auto without, const X&, const W&,
                                                        const B&) {
    tl::detail::graph g;
    const X x(&g, g.input(0, tl::dtype::f32, X::extents));
    const W w(&g, g.input(1, tl::dtype::f32, W::extents));
    const B b(&g, g.input(2, tl::dtype::f32, B::extents));
    const auto y = with(x, w, b);
    const tl::var v = with(tl::var(x), w, b), u = with(x, w, tl::var(b));
    return y.id() == without(x, w, b).id() && y.id() == v.node && y.id() == u.node &&
           v.dims() == decltype(y)::extents;
  };
  constexpr tl::extent_t n = tl::dyn<'n'>;
  using tl::tensor;
  constexpr bool all[] = {
      same_nodes([](auto x, auto w, auto b) { return tl::conv1d<tl::conv1{.stride = 2}>(x, w, b); },
                 [](auto x, auto w, auto b) {
                   return tl::conv1d<tl::conv1{.stride = 2}>(x, w) + tl::reshape<3, 1>(b);
                 },
                 tensor<float, n, 4, 7>{}, tensor<float, 3, 4, 3>{}, tensor<float, 3>{}),
      same_nodes(
          [](auto x, auto w, auto b) { return tl::conv2d<tl::conv{.groups = 2}>(x, w, b); },
          [](auto x, auto w, auto b) { return tl::conv2d<tl::conv{.groups = 2}>(x, w) + tl::channel(b); },
          tensor<float, n, 4, 5, 6>{}, tensor<float, 6, 2, 3, 3>{}, tensor<float, 6>{}),
      same_nodes([](auto x, auto w, auto b) { return tl::conv2d<nhwc>(x, w, b); },
                 [](auto x, auto w, auto b) { return tl::conv2d<nhwc>(x, w) + b; },
                 tensor<float, n, 5, 6, 4>{}, tensor<float, 6, 4, 3, 3>{}, tensor<float, 6>{}),
      same_nodes([](auto x, auto w, auto b) { return tl::conv3d(x, w, b); },
                 [](auto x, auto w, auto b) { return tl::conv3d(x, w) + tl::reshape<6, 1, 1, 1>(b); },
                 tensor<float, n, 2, 3, 5, 6>{}, tensor<float, 6, 2, 2, 3, 3>{}, tensor<float, 6>{}),
      same_nodes([](auto x, auto w, auto b) { return tl::conv_transpose1d(x, w, b); },
                 [](auto x, auto w, auto b) { return tl::conv_transpose1d(x, w) + tl::reshape<3, 1>(b); },
                 tensor<float, n, 4, 5>{}, tensor<float, 4, 3, 3>{}, tensor<float, 3>{}),
      same_nodes([](auto x, auto w,
                    auto b) { return tl::conv_transpose2d<tl::conv_transpose{.groups = 2}>(x, w, b); },
                 [](auto x, auto w, auto b) {
                   return tl::conv_transpose2d<tl::conv_transpose{.groups = 2}>(x, w) + tl::channel(b);
                 },
                 tensor<float, n, 4, 5, 6>{}, tensor<float, 4, 3, 3, 3>{}, tensor<float, 6>{}),
      same_nodes(
          [](auto x, auto w, auto b) { return tl::conv_transpose3d(x, w, b); },
          [](auto x, auto w, auto b) { return tl::conv_transpose3d(x, w) + tl::reshape<3, 1, 1, 1>(b); },
          tensor<float, n, 4, 3, 2, 2>{}, tensor<float, 4, 3, 2, 3, 3>{}, tensor<float, 3>{})};
  for (const bool same : all) CHECK(same);
}
