// expect: tapeless: grad<i...>(f): f takes these arguments, numbers too as auto or tl::scalar<T>; hvp<i>(f) takes one v more
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto energy = [](auto a, auto b) { return tl::sum(tl::exp(a * b)); };
constexpr auto f = [](auto x, auto v) {
#ifdef TAPELESS_BAD
  return tl::hvp<0>(energy)(x, v);
#else
  return tl::hvp<0>(energy)(x, x, v);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4>, tl::tensor<float, 4>>();
