// expect: tapeless: concat<axis>(a, b): the axis is static and all other extents agree
// extents: {2, 5}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto y) {
#ifdef TAPELESS_BAD
  return tl::concat<0>(x, y);
#else
  return tl::concat<1>(x, y);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 8>, tl::tensor<float, 2, 5>>();
