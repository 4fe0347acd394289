// expect: tapeless: where(c, a, b): a and b have one element type
// extents: float
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr auto zero = 0;
#else
constexpr auto zero = 0.0f;
#endif
constexpr auto f = [](auto c) { return tl::where(c, 1.0f, zero); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<bool, 8>>();
