// expect: tapeless: jit(f): f is run by the compiler: it reads its arguments and constexpr variables and calls constexpr functions; what changes from run to run is passed as an argument; where the next error names a limit: -fconstexpr-ops-limit=4000000000 (g++), -fconstexpr-steps=2000000000 (clang)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 16, 8>;

X weights;
#ifdef TAPELESS_BAD
constexpr auto f = [](auto x, auto) { return tl::sum(x * weights); };
#else
constexpr auto f = [](auto x, auto w) { return tl::sum(x * w); };
#endif
void use() { auto run = tl::jit(f).bind<X, X>(); }
