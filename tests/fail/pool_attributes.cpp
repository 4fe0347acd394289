// expect: tapeless: pool2d<pool>(x): the attributes are a template argument, as in max_pool2d<pool{.kernel = 2}>(x)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto half = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::max_pool2d(x, 2);
#else
  return tl::max_pool2d<tl::pool{.kernel = 2}>(x);
#endif
};
constexpr tl::cost cost = tl::jit(half).cost<tl::tensor<float, 1, 4, 8, 8>>();
