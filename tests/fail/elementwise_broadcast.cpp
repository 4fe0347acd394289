// expect: tapeless: elementwise op(a, b): the shapes broadcast
// extents: {16}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using bias = tl::tensor<float, 16>;
#else
using bias = tl::tensor<float, 8>;
#endif
constexpr auto f = [](auto x, auto b) { return tl::relu(x * 2.0f + b); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>, bias>();
