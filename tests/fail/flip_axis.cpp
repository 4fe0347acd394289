// expect: tapeless: flip<axis>(a): the axis exists
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::flip<2>(x);
#else
  return tl::flip<1>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
