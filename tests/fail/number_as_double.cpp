// expect: tapeless: std::f(x), double d = x: a tensor is not a number; use tl::exp, tl::sqrt, ... or tl::custom<op>(x); a result is read as y[0], a parameter is auto or tl::scalar<T>
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
constexpr auto f = [](const params& p, double lr) { return tl::sum(p.b) * lr; };
#else
constexpr auto f = [](const params& p, auto lr) { return tl::sum(p.b) * lr; };
#endif
void use() { auto run = tl::jit(f).bind<params, float>(); }
