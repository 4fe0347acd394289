// expect: tapeless: pool2d<pool>(x): the padding is smaller than the kernel
// extents: {1, 4, 8, 8}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto half = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::max_pool2d<tl::pool{.kernel = 2, .padding = 2}>(x);
#else
  return tl::max_pool2d<tl::pool{.kernel = 2, .padding = 1}>(x);
#endif
};
constexpr tl::cost cost = tl::jit(half).cost<tl::tensor<float, 1, 4, 8, 8>>();
