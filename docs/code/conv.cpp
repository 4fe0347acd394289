// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <array>

namespace tl = tapeless;

// [signature]
// x: tensor<float, tl::dyn<'n'>, 4, 8, 8>   w: tensor<float, 6, 4, 3, 3>   g: tensor<float, 6, 2, 3, 5>
constexpr auto convolutions = [](auto x, auto w, auto g) {
  auto a = tl::conv2d(x, w);                                              // (n, 6, 6, 6)
  auto b = tl::conv2d<tl::conv{.stride = 2, .padding = 1}>(x, w);         // (n, 6, 4, 4)
  auto c = tl::conv2d<tl::conv{.padding = tl::same, .groups = 2}>(x, g);  // (n, 6, 8, 8)
  auto d = tl::conv2d<tl::conv{.stride = {2, 1}, .padding = {1, 2}, .dilation = {2, 1}}>(x, w); // (n, 6, 3, 10)
  auto e = tl::conv2d<tl::conv{.padding = {1, 0, 0, 2}}>(x, w);           // (n, 6, 7, 8): top, bottom, left, right
  return std::tuple{a, b, c, d, e};
};
// [/signature]

// [ranks]
// x: tensor<float, tl::dyn<'n'>, 2, 16>   w: tensor<float, 3, 2, 5>
// v: tensor<float, tl::dyn<'n'>, 2, 4, 8, 8>   u: tensor<float, 3, 2, 3, 3, 3>
constexpr auto other_ranks = [](auto x, auto w, auto v, auto u) {
  auto a = tl::conv1d<tl::conv1{.padding = {4, 0}}>(x, w);                                  // (n, 3, 16): causal
  auto b = tl::conv3d<tl::conv3{.stride = {1, 2, 2}, .padding = tl::same}>(v, u);           // (n, 3, 4, 4, 4)
  return std::tuple{a, b};
};
// [/ranks]

// [transposed]
// x: tensor<float, tl::dyn<'n'>, 4, 8>   w: tensor<float, 4, 3, 3>
// z: tensor<float, tl::dyn<'n'>, 4, 8, 8>   t: tensor<float, 4, 3, 4, 4>
// v: tensor<float, tl::dyn<'n'>, 4, 2, 8, 8>   u: tensor<float, 4, 3, 2, 4, 4>
constexpr auto transposed = [](auto x, auto w, auto z, auto t, auto v, auto u) {
  auto a = tl::conv_transpose1d<tl::conv_transpose1{.stride = 2, .padding = 1, .output_padding = 1}>(x, w); // (n, 3, 16)
  auto b = tl::conv_transpose2d<tl::conv_transpose{.stride = 2, .padding = 1}>(z, t);                       // (n, 3, 16, 16)
  auto c = tl::conv_transpose3d<tl::conv_transpose3{.stride = 2, .padding = {0, 1, 1}}>(v, u);              // (n, 3, 4, 16, 16)
  return std::tuple{a, b, c};
};
// [/transposed]

// [layout]
// x: tensor<float, tl::dyn<'n'>, 8, 8, 4>   w: tensor<float, 6, 4, 3, 3>
constexpr auto pixels_first = [](auto x, auto w) {
  auto h = tl::conv2d<tl::conv{.padding = 1, .layout = tl::layout::nhwc}>(x, w);      // (n, 8, 8, 6)
  return tl::max_pool2d<tl::pool{.kernel = 2, .layout = tl::layout::nhwc}>(h);        // (n, 4, 4, 6)
};
// [/layout]

// [keep]
// x: tensor<float, tl::dyn<'n'>, 4, 8, 8>   w: tensor<float, 6, 4, 3, 3>
constexpr std::array<bool, 4> used_channels{true, false, false, true};
constexpr auto pruned = [](auto x, auto w) {
  return tl::conv2d<tl::conv{.padding = 1}>(x, tl::keep<1, used_channels>(w)); // (n, 6, 8, 8): half the flops
};
// [/keep]

using X = tl::tensor<float, tl::dyn<'n'>, 4, 8, 8>;
using W = tl::tensor<float, 6, 4, 3, 3>;
using G = tl::tensor<float, 6, 2, 3, 5>;

template <class... A> auto ones() {
  tl::owned<std::tuple<A...>> a(tl::dim<'n'>(2));
  tl::detail::for_each_leaf(*a, [](auto leaf) { for (float& e : leaf) e = 1; });
  return a;
}
using sequences = tl::tensor<float, tl::dyn<'n'>, 2, 16>;
using row_filters = tl::tensor<float, 3, 2, 5>;
using volumes = tl::tensor<float, tl::dyn<'n'>, 2, 4, 8, 8>;
using volume_filters = tl::tensor<float, 3, 2, 3, 3, 3>;
using small_images = tl::tensor<float, tl::dyn<'n'>, 4, 8, 8>;
using spread_filters = tl::tensor<float, 4, 3, 4, 4>;
using short_rows = tl::tensor<float, tl::dyn<'n'>, 4, 8>;
using spread_row_filters = tl::tensor<float, 4, 3, 3>;
using small_volumes = tl::tensor<float, tl::dyn<'n'>, 4, 2, 8, 8>;
using spread_volume_filters = tl::tensor<float, 4, 3, 2, 4, 4>;

int main() {
  tl::owned<X> x(tl::dim<'n'>(2));
  tl::owned<std::tuple<W, G>> w;
  for (float& e : *x) e = 1;
  tl::detail::for_each_leaf(*w, [](auto leaf) { for (float& e : leaf) e = 1; });
  auto run = tl::jit(convolutions).bind<X, W, G>(tl::dim<'n'>(2));
  const auto out = run(*x, std::get<0>(*w), std::get<1>(*w));
  const auto corner = [](const char* name, const auto& y) {
    std::printf("%s: (%d, %d, %d, %d), corner %g, middle %g\n", name, static_cast<int>(y.extent(0)), static_cast<int>(y.extent(1)),
                static_cast<int>(y.extent(2)), static_cast<int>(y.extent(3)), y(0, 0, 0, 0), y(0, 0, y.extent(2) / 2, y.extent(3) / 2));
  };
  corner("a", std::get<0>(out));
  corner("b", std::get<1>(out));
  corner("c", std::get<2>(out));
  corner("d", std::get<3>(out));
  corner("e", std::get<4>(out));

  auto ranks = tl::jit(other_ranks).bind<sequences, row_filters, volumes, volume_filters>(tl::dim<'n'>(2));
  const auto arguments = ones<sequences, row_filters, volumes, volume_filters>();
  const auto [line, volume] = std::apply([&](const auto&... a) { return ranks(a...); }, *arguments);
  std::printf("conv1d: (2, 3, %d), first %g, last %g\n", static_cast<int>(line.extent(2)), line(0, 0, 0), line(1, 2, 15));
  std::printf("conv3d: (2, 3, 4, 4, 4), first %g, middle %g\n", volume(0, 0, 0, 0, 0), volume(0, 0, 2, 2, 2));

  auto spread = tl::jit(transposed).bind<short_rows, spread_row_filters, small_images, spread_filters, small_volumes, spread_volume_filters>(
      tl::dim<'n'>(2));
  const auto small = ones<short_rows, spread_row_filters, small_images, spread_filters, small_volumes, spread_volume_filters>();
  const auto [row, image, block] = std::apply([&](const auto&... a) { return spread(a...); }, *small);
  std::printf("conv_transpose1d: (2, 3, %d), first %g, second %g\n", static_cast<int>(row.extent(2)), row(0, 0, 0), row(0, 0, 1));
  std::printf("conv_transpose2d: (2, 3, 16, 16), first %g, middle %g\n", image(0, 0, 0, 0), image(0, 0, 8, 8));
  std::printf("conv_transpose3d: (2, 3, %d, 16, 16), first %g, middle %g\n", static_cast<int>(block.extent(2)), block(0, 0, 0, 0, 0),
              block(0, 0, 2, 8, 8));

  using rows_of_channels = tl::tensor<float, tl::dyn<'n'>, 8, 8, 4>;
  auto last = tl::jit(pixels_first).bind<rows_of_channels, W>(tl::dim<'n'>(2));
  const auto filled = ones<rows_of_channels, W>();
  const auto pooled = last(std::get<0>(*filled), std::get<1>(*filled));
  std::printf("nhwc: (2, %d, %d, 6), corner %g\n", static_cast<int>(pooled.extent(1)), static_cast<int>(pooled.extent(2)), pooled(0, 0, 0, 0));
  auto half = tl::jit(pruned).bind<X, W>(tl::dim<'n'>(2));
  const auto kept = half(*x, std::get<0>(*w));
  corner("keep", kept);

  constexpr auto cost = [](auto f) { return tl::jit(f).template cost<X, W>().flops().at(tl::dim<'n'>(1)); };
  std::printf("flops for one image: %.0f of %.0f with keep\n", cost(pruned), cost([](auto v, auto u) { return tl::conv2d<tl::conv{.padding = 1}>(v, u); }));
  std::printf("flops for one image: %.0f without padding, %.0f with padding 1\n", cost([](auto v, auto u) { return tl::conv2d(v, u); }),
              cost([](auto v, auto u) { return tl::conv2d<tl::conv{.padding = 1}>(v, u); }));
}
