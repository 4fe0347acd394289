// expect: tapeless: std::f(x), double d = x: a tensor is not a number; use tl::exp, tl::sqrt, ...
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <cstdlib>

#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return x * std::abs(x);
#else
  return x * tl::max(x, -x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
