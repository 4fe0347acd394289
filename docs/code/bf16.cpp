// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cstdio>

namespace tl = tapeless;

// [signature]
struct params {
  tl::tensor<float, 64, 32> w; // the optimizer's weights stay float
  tl::tensor<float, 32> b;
  tl::tensor<float, 32, 4> v;
};
constexpr auto loss = [](const auto& p, auto x, auto t) {
  auto narrow = [](auto a) { return tl::cast<tl::bf16>(a); };       // rounded to 8 bits
  auto h = tl::relu(tl::matmul(narrow(x), narrow(p.w)) + p.b);      // (n, 32) float: sums are of float
  auto y = tl::matmul(narrow(h), narrow(p.v));                      // (n, 4)
  return tl::mean(square(y - t));
};
// [/signature]

// [conv]
// x: tensor<float, tl::dyn<'n'>, 3, 32, 32>   w: tensor<float, 32, 3, 3, 3>   v: tensor<float, 48, 32, 3, 3>
constexpr auto features = [](auto x, auto w, auto v) {
  auto narrow = [](auto a) { return tl::cast<tl::bf16>(a); };
  auto h = tl::relu(tl::conv2d<tl::conv{.stride = 2, .padding = 1}>(narrow(x), narrow(w))); // (n, 32, 16, 16) float
  return tl::conv2d<tl::conv{.padding = 1}>(narrow(h), narrow(v));                          // (n, 48, 16, 16) float
};
// [/conv]

using inputs = tl::tensor<float, tl::dyn<'n'>, 64>;
using targets = tl::tensor<float, tl::dyn<'n'>, 4>;

int main() {
  for (const float x : {1.0f, 1.01f, 1.00390625f, 1.01171875f, 3e38f})
    std::printf("%-12.9g -> %.9g\n", static_cast<double>(x), static_cast<double>(static_cast<float>(tl::bf16(x))));

  // whole numbers up to 256 are exact, and so are their products and sums
  using A = tl::tensor<float, 2, 3>;
  using B = tl::tensor<float, 3, 2>;
  auto run = tl::jit([](auto a, auto b) {
               return tl::matmul(tl::cast<tl::bf16>(a), tl::cast<tl::bf16>(b));
             }).bind<A, B>();
  tl::owned<std::tuple<A, B>> in;
  for (int i = 0; i < 6; ++i) std::get<0>(*in)[i] = static_cast<float>(i + 1), std::get<1>(*in)[i] = static_cast<float>(250 + i);
  const auto c = run(std::get<0>(*in), std::get<1>(*in));
  std::printf("a b = %g %g %g %g\n", static_cast<double>(c[0]), static_cast<double>(c[1]), static_cast<double>(c[2]), static_cast<double>(c[3]));

  constexpr tl::cost cost = tl::jit(tl::value_and_grad(loss)).cost<params, inputs, targets>();
  const auto flops = cost.flops().at(tl::dim<'n'>(128)), bytes = cost.bytes().at(tl::dim<'n'>(128));
  std::printf("a step of 128 rows: %.0f flops, %.0f bytes\n", flops, bytes);

  using images = tl::tensor<float, tl::dyn<'n'>, 3, 32, 32>;
  tl::owned<std::tuple<images, tl::tensor<float, 32, 3, 3, 3>, tl::tensor<float, 48, 32, 3, 3>>> layers(tl::dim<'n'>(2));
  const auto& [x, w, v] = *layers;
  for (float& e : x) e = 1;
  for (float& e : w) e = 0.125f;
  for (float& e : v) e = 0.0625f;
  auto of_images = tl::jit(features).bind<images, tl::tensor<float, 32, 3, 3, 3>, tl::tensor<float, 48, 32, 3, 3>>(tl::dim<'n'>(2));
  const auto y = of_images(x, w, v);
  std::printf("features: %g in a corner, %g inside\n", static_cast<double>(y(0, 0, 0, 0)), static_cast<double>(y(1, 47, 8, 8)));
}
