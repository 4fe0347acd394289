// expect: tapeless: convolution(x, w): groups is at least 1
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto w) {
  tl::var h = x;
#ifdef TAPELESS_BAD
  h = tl::conv2d<tl::conv{.groups = 0}>(h, w);
#else
  h = tl::conv2d<tl::conv{.groups = 1}>(h, w);
#endif
  return h.as<float, 1, 6, 6, 6>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 4, 8, 8>, tl::tensor<float, 6, 4, 3, 3>>();
