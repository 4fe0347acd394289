// expect: tapeless: instance_norm(x, gamma, beta): gamma and beta are (C)
// extents: {4}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using scale = tl::tensor<float, 4>;
#else
using scale = tl::tensor<float, 16>;
#endif
constexpr auto f = [](auto x, auto g, auto b) { return tl::instance_norm(x, g, b); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 16, 4>, scale, scale>();
