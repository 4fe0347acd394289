// expect: tapeless: elementwise op(a, b): both have one element type; cast one first
// extents: double
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using bias = tl::tensor<double, 8>;
#else
using bias = tl::tensor<float, 8>;
#endif
constexpr auto f = [](auto x, auto b) { return x + b; };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>, bias>();
