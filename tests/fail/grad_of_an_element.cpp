// expect: tapeless: grad<i...>(f): f returns a scalar tensor, or a tuple of one and auxiliary values; x[i] is none
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto product = [](auto x) {
#ifdef TAPELESS_BAD
  return x[0] * x[1];
#else
  return tl::sum(tl::slice<0, 0, 1>(x) * tl::slice<0, 1, 2>(x));
#endif
};
constexpr tl::cost cost = tl::jit(tl::grad(product)).cost<tl::tensor<float, 2>>();
