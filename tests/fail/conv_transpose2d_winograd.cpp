// expect: tapeless: convolution(x, w): winograd is 0, 2 or 4
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto w) {
#ifdef TAPELESS_BAD
  return tl::conv_transpose2d<tl::conv_transpose{.winograd = 1}>(x, w);
#else
  return tl::conv_transpose2d<tl::conv_transpose{.winograd = 0}>(x, w);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 6, 8, 8>, tl::tensor<float, 6, 4, 3, 3>>();
