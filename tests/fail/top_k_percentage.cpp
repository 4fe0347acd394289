// expect: tapeless: top_k<k>(values): 0 <= k < 2^31, and a percentage is 1 to 100
// extents: 101
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::bottom_k<tl::percent{101}>(x);
#else
  return tl::bottom_k<tl::percent{100}>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
