// expect: tapeless: concat<axis>(a, b, ...): the axis is a template argument, as in concat<1>(a, b)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::concat(x, x, 1);
#else
  return tl::concat<1>(x, x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
