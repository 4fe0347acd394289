// expect: tapeless: linear_scan<axis>(a, b): both are float, or both are double
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::linear_scan<1>(x, x > 0.0f);
#else
  return tl::linear_scan<1>(x, tl::cast<float>(x > 0.0f));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
