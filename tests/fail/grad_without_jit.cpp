// expect: tapeless: grad(f).bind<A...>(), .cost, .explain: of a program: tl::jit(tl::grad(f)).bind<A...>(), and so value_and_grad, vjp, jvp and hvp
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 16, 8>;

constexpr auto f = [](auto x) { return tl::sum(x); };
void use() {
#ifdef TAPELESS_BAD
  auto run = tl::value_and_grad(f).bind<X>();
#else
  auto run = tl::jit(tl::value_and_grad(f)).bind<X>();
#endif
}
