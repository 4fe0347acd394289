// expect: tapeless: grad<i...>(f): f takes these arguments, numbers too as auto or tl::scalar<T>; hvp<i>(f) takes one v more
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

void train() {
  auto step = tl::jit(tl::grad([](auto x, auto w) { return tl::sum(tl::matmul(x, w)); }));
#ifdef TAPELESS_BAD
  auto run = step.bind<tl::tensor<float, 4, 8>>();
#else
  auto run = step.bind<tl::tensor<float, 4, 8>, tl::tensor<float, 8>>();
#endif
}
