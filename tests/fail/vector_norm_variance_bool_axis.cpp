// expect: tapeless: reduction<axes...>(a): an axis is a number; to keep the axes, tl::keepdims stands behind a
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::variance<0, true>(x);
#else
  return tl::variance<0>(x, tl::unbiased);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
