// expect: tapeless: channel(b): b has one axis
// extents: {1, 16}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using bias = tl::tensor<float, 1, 16>;
#else
using bias = tl::tensor<float, 16>;
#endif
constexpr auto f = [](auto x, auto b) { return x + tl::channel(b); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 16, 4, 4>, bias>();
