// expect: tapeless: batch_norm(x, gamma, beta): gamma, beta, mean and variance are (C)
// extents: {16, 1, 1}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using scale = tl::tensor<float, 16, 1, 1>;
#else
using scale = tl::tensor<float, 16>;
#endif
constexpr auto f = [](auto x, auto g, auto b) { return tl::batch_norm(x, g, b); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 16, 4, 4>, scale, tl::tensor<float, 16>>();
