// expect: tapeless: split<axis, n>(a): the axis and n are template arguments, as in split<1, 2>(a)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::split<1>(x, 3);
#else
  return tl::split<1, 3>(x)[0];
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
