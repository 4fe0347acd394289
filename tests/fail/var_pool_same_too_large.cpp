// expect: tapeless: pool2d<pool>(x): the padding that same stands for is at most 255
// extents: 700
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr int far = 255;
#else
constexpr int far = 127;
#endif
constexpr auto f = [](auto x) {
  tl::var h = x;
  h = tl::max_pool2d<tl::pool{.kernel = {5, 1}, .stride = 1, .padding = tl::same, .dilation = {far, 1}}>(h);
  return h.as<float, 1, 1, 700, 2>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 1, 700, 2>>();
