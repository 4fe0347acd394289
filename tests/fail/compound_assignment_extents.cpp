// expect: tapeless: a += b: a + b has the type and extents of a
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto y) {
  auto s = tl::sum(x);
#ifdef TAPELESS_BAD
  s += y;
#else
  s += tl::sum(y);
#endif
  s *= 2;
  return s;
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>, tl::tensor<float, 3>>();
