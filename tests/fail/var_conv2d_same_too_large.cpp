// expect: tapeless: convolution(x, w): the padding that same stands for is at most 255
// extents: 600
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr int far = 129;
#else
constexpr int far = 127;
#endif
constexpr auto f = [](auto x, auto w) {
  tl::var h = x;
  h = tl::conv2d<tl::conv{.padding = tl::same, .dilation = {1, far}}>(h, w);
  return h.as<float, 1, 1, 1, 600>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 1, 1, 600>, tl::tensor<float, 1, 1, 1, 5>>();
