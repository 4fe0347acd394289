// expect: tapeless: top_k<k>(values): 0 <= k < 2^31, and a percentage is 1 to 100
// extents: -1
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::top_k<-1>(x);
#else
  return tl::top_k<0>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
