// expect: tapeless: jvp<i...>(f)(x..., x_dot...): f takes the arguments x..., numbers too as auto or tl::scalar<T>, and one x_dot follows for each i
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto product = [](auto a, auto b) { return a * b; };
constexpr auto f = [](auto x, auto v) {
#ifdef TAPELESS_BAD
  return tl::jvp<0, 1>(product)(x, x, v);
#else
  return tl::jvp<0, 1>(product)(x, x, v, v);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4>, tl::tensor<float, 4>>();
