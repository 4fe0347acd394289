// expect: tapeless: grad<i...>(f): f returns a scalar; reduce it with sum or mean
// extents: {4, 8}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto loss = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::square(x);
#else
  return tl::sum(tl::square(x));
#endif
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<tl::tensor<float, 4, 8>>();
