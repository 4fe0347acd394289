// expect: tapeless: convolution(x, w): the kernel extents are static and at least 1
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using weights = tl::tensor<float, 6, 4, tl::dyn<'r'>, 3>;
#else
using weights = tl::tensor<float, 6, 4, 3, 3>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv2d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 4, 8, 8>, weights>();
