// expect: tapeless: layout::nhwc: x is (N, H, W, C)
// extents: has_four_axes
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto w) {
#ifdef TAPELESS_BAD
  return tl::conv2d<tl::conv{.layout = tl::layout::nhwc}>(tl::reshape<8, 8, 3>(x), w);
#else
  return tl::conv2d<tl::conv{.layout = tl::layout::nhwc}>(x, w);
#endif
};
void use(tl::tensor<float, 1, 8, 8, 3> x, tl::tensor<float, 4, 3, 3, 3> w) {
  auto run = tl::jit(f).bind<tl::tensor<float, 1, 8, 8, 3>, tl::tensor<float, 4, 3, 3, 3>>();
  run(x, w);
}
