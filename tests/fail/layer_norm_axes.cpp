// expect: tapeless: layer_norm<k>(x, gamma, beta): x has at least k axes, and k is at least 1
// extents: {8}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using rows = tl::tensor<float, 8>;
#else
using rows = tl::tensor<float, 8, 3>;
#endif
constexpr auto f = [](auto x) { return tl::layer_norm<2>(x); };
constexpr tl::cost cost = tl::jit(f).cost<rows>();
