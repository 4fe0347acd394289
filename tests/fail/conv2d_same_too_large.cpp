// expect: tapeless: convolution(x, w): the padding that same stands for is at most 255
// extents: 513
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using weights = tl::tensor<float, 1, 1, 1, 513>;
#else
using weights = tl::tensor<float, 1, 1, 1, 511>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv2d<tl::conv{.padding = tl::same}>(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 1, 1, 600>, weights>();
