// expect: tapeless: jit(f): f takes these arguments, numbers too as auto or tl::scalar<T>
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
constexpr auto f = [](const params& p, float lr) { return tl::sum(p.b) * lr; };
#else
constexpr auto f = [](const params& p, tl::scalar<float> lr) { return tl::sum(p.b) * lr; };
#endif
void use() { auto run = tl::jit(f).bind<params, float>(); }
