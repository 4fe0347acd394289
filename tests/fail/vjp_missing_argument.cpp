// expect: tapeless: vjp<i...>(f)(x..., y_bar): f takes the arguments x..., numbers too as auto or tl::scalar<T>, and one y_bar follows
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto product = [](auto a, auto b) { return a * b; };
constexpr auto f = [](auto x, auto v) {
#ifdef TAPELESS_BAD
  return tl::vjp<0>(product)(x, v);
#else
  return tl::vjp<0>(product)(x, x, v);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4>, tl::tensor<float, 4>>();
