// expect: tapeless: convolution(x, w): stride and dilation are 1 to 255, padding is 0 to 255
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto w) {
#ifdef TAPELESS_BAD
  return tl::conv2d<tl::conv{.padding = -1}>(x, w);
#else
  return tl::conv2d<tl::conv{.padding = tl::same}>(x, w);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 4, 8, 8>, tl::tensor<float, 6, 4, 3, 3>>();
