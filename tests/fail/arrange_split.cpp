// expect: tapeless: split<axis, n>(a): the axis exists and is static, and n divides it
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::split<1, 2>(x)[0]);
#else
  return tl::sum(tl::split<1, 3>(x)[0]);
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, 2, 3>>();
