// expect: tapeless: convolution(x, w): the channels of x are groups times those of w
// extents: {8, 32, 3, 3}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using weights = tl::tensor<float, 8, 32, 3, 3>;
#else
using weights = tl::tensor<float, 8, 64, 3, 3>;
#endif
struct params {
  tl::tensor<float, 64, 3, 3, 3> stem;
  weights body;
};
constexpr auto net = [](const auto& p, auto x) {
  auto h = tl::relu(tl::conv2d<tl::conv{.padding = 1}>(x, p.stem));
  return tl::mean(tl::conv2d<tl::conv{.stride = 2}>(h, p.body));
};
constexpr tl::cost cost = tl::jit(tl::grad(net)).cost<params, tl::tensor<float, tl::dyn<'n'>, 3, 32, 32>>();
