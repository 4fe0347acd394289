// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

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

using X = tl::tensor<float, tl::dyn<'n'>, 4, 8, 8>;
using W = tl::tensor<float, 6, 4, 3, 3>;
using G = tl::tensor<float, 6, 2, 3, 5>;

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

  constexpr auto cost = [](auto f) { return tl::jit(f).template cost<X, W>().flops().at(tl::dim<'n'>(1)); };
  std::printf("flops for one image: %.0f without padding, %.0f with padding 1\n", cost([](auto v, auto u) { return tl::conv2d(v, u); }),
              cost([](auto v, auto u) { return tl::conv2d<tl::conv{.padding = 1}>(v, u); }));
}
