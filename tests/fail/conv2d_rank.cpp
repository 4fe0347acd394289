// expect: tapeless: conv2d<conv>(x, w): x is (N, C, H, W)
// extents: {4, 28, 28}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using images = tl::tensor<float, 4, 28, 28>;
#else
using images = tl::tensor<float, 4, 1, 28, 28>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv2d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<images, tl::tensor<float, 16, 1, 3, 3>>();
