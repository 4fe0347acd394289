// expect: tapeless: pool2d<pool>(x): kernel, stride and dilation are 1 to 255, padding is 0 to 255
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::max_pool2d<tl::pool{.kernel = {256, 1}, .stride = 1}>(x);
#else
  return tl::max_pool2d<tl::pool{.kernel = {255, 1}, .stride = 1}>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 1, 300, 2>>();
