// expect: tapeless: jit(f): f is run by the compiler: it reads its arguments and constexpr variables and calls constexpr functions; what changes from run to run is passed as an argument; where the next error names a limit: -fconstexpr-ops-limit=4000000000 (g++), -fconstexpr-steps=2000000000 (clang)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 16, 8>;

#ifdef TAPELESS_BAD
float scale = 0.5f;
#else
constexpr float scale = 0.5f;
#endif
constexpr auto f = [](auto x) { return tl::sum(x * scale); };
void use() { auto run = tl::jit(tl::value_and_grad(f)).bind<X>(); }
