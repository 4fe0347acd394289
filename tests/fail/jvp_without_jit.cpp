// expect: tapeless: grad(f).bind<A...>(), .cost, .explain: of a program: tl::jit(tl::grad(f)).bind<A...>(), and so value_and_grad, vjp, jvp and hvp
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 16, 8>;

constexpr auto f = [](auto x) { return tl::sum(x); };
#ifdef TAPELESS_BAD
constexpr auto cost = tl::jvp(f).cost<X, X>();
#else
constexpr auto cost = tl::jit(tl::jvp(f)).cost<X, X>();
#endif
