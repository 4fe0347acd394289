// expect: tapeless: grad<i...>(f): f takes these arguments, numbers too as auto or tl::scalar<T>; hvp<i>(f) takes one v more
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct params {
  tl::tensor<float, 8, 4> w;
  tl::tensor<float, 4> b;
};
using X = tl::tensor<float, 16, 8>;

#ifdef TAPELESS_BAD
constexpr auto f = [](const params& p, const X& x, float lr) { return tl::sum(tl::matmul(x, p.w)) * lr; };
#else
constexpr auto f = [](const params& p, const X& x, auto lr) { return tl::sum(tl::matmul(x, p.w)) * lr; };
#endif
void use() { auto run = tl::jit(tl::value_and_grad(f)).bind<params, X, float>(); }
