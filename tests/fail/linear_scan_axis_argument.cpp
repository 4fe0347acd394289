// expect: tapeless: linear_scan<axis>(a, b): the axis is a template argument, as in linear_scan<1>(a, b)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::linear_scan(0.9f, x, 1);
#else
  return tl::linear_scan<1>(0.9f, x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
