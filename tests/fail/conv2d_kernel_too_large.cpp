// expect: tapeless: convolution(x, w): the kernel fits into the padded image
// extents: {4, 1, 9, 3}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using weights = tl::tensor<float, 4, 1, 9, 3>;
#else
using weights = tl::tensor<float, 4, 1, 7, 3>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv2d<tl::conv{.padding = 1}>(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 1, 5, 5>, weights>();
