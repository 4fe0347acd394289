// expect: tapeless: layout::nhwc: x is (N, H, W, C)
// extents: 8, 8, 3
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  tl::var h = tl::reshape<8, 8, 3>(x);
#else
  tl::var h = x;
#endif
  h = tl::max_pool2d<tl::pool{.layout = tl::layout::nhwc}>(h);
  return tl::sum(h).template as<float>();
};
void use(tl::tensor<float, 1, 8, 8, 3> x) {
  auto run = tl::jit(f).bind<tl::tensor<float, 1, 8, 8, 3>>();
  run(x);
}
