// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cstdio>

namespace tl = tapeless;

using V = tl::tensor<float, tl::dyn<'n'>>;
using X = tl::tensor<float, tl::dyn<'n'>, 64>;
using W = tl::tensor<float, 64, 64>;
using B = tl::tensor<float, 64>;

// [chain]
// twelve ops forward and backward
constexpr auto chain = [](auto x, auto y) {
  auto z = tanh(x * y) + sigmoid(x);
  return tl::sum(z * z * y);
};
// [/chain]

// [layers]
constexpr auto layers = [](auto x, auto w, auto b) {
  for (int i = 0; i < 4; ++i) x = relu(tl::matmul(x, w) + b);
  return tl::reshape<tl::dyn<'n'>, 64>(x);
};
// [/layers]

// [rows]
constexpr auto rows = [](auto x) { return tl::softmax(x); };
// [/rows]

// [images]
// a layer of 4 groups, its loss and all gradients
using I = tl::tensor<float, 32, 32, 32, 32>;
using F = tl::tensor<float, 32, 8, 3, 3>;
constexpr auto images = [](auto x, auto w, auto t) {
  auto y = tl::relu(tl::conv2d<tl::conv{.padding = 1, .groups = 4}>(x, w));
  return tl::mean(tl::square(y - t));
};
// x and t are read once, the gradient of x is written once: 4 MB each
static_assert(tl::jit(tl::value_and_grad<0, 1>(images)).cost<I, F, I>().bytes().at() < 3.1 * (1 << 22));
// [/images]

int main() {
  std::printf("chain:\n%s\n", tl::jit(tl::value_and_grad<0>(chain)).explain<V, V>().c_str());
  std::printf("layers:\n%s\n", tl::jit(layers).explain<X, W, B>().c_str());
  std::printf("rows:\n%s", tl::jit(rows).explain<X>().c_str());
}
