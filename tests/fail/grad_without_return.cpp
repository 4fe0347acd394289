// expect: tapeless: grad<i...>(f): f returns a value: a return is missing
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto loss = [](auto x) {
#ifdef TAPELESS_BAD
  tl::sum(x * x);
#else
  return tl::sum(x * x);
#endif
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<tl::tensor<float, 3>>();
