// expect: tapeless: std::f(x), double d = x: a tensor is not a number; use tl::exp, tl::sqrt, ...
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <cmath>

#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  tl::var h = std::sin(tl::var(x));
  return h.template as<float, 8>();
#else
  tl::var h = tl::tanh(tl::var(x));
  return h.template as<float, 8>();
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
