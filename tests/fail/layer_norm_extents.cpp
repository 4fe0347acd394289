// expect: tapeless: layer_norm<k>(x, gamma, beta): gamma and beta have the extents of the last k axes
// extents: {8}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using scale = tl::tensor<float, 8>;
#else
using scale = tl::tensor<float, 3>;
#endif
constexpr auto f = [](auto x, auto g, auto b) { return tl::layer_norm(x, g, b); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8, 3>, scale, scale>();
