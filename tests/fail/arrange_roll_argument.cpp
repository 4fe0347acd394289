// expect: tapeless: roll<axis, shift>(a): the axis and shift are template arguments, as in roll<1, 2>(a)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::roll(x, 1);
#else
  return tl::roll<0, 1>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
