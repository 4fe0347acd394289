// expect: tapeless: jit(f): the arguments of a program live in one space, on the host: no back end for another one is included
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <array>
namespace tl = tapeless;

constexpr auto f = [](auto x) { return tl::sum(x[0] * x[1]); };
using X = tl::tensor<float, 4>;
#ifdef TAPELESS_BAD
struct device {};
using Y = tl::basic_tensor<float, X::extents, device>;
#else
using Y = X;
#endif
using pair = std::array<Y, 2>;
auto run() { return tl::jit(f).bind<pair>(); }
