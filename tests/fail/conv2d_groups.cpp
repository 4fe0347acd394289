// expect: tapeless: convolution(x, w): groups divides the filters of w
// extents: {9, 4, 3, 3}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using weights = tl::tensor<float, 9, 4, 3, 3>;
#else
using weights = tl::tensor<float, 10, 4, 3, 3>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv2d<tl::conv{.groups = 2}>(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 8, 12, 12>, weights>();
