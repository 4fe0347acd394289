// expect: tapeless: conv_transpose3d<conv_transpose3>(x, w): x is (N, K, D', P, Q)
// extents: {4, 3, 5, 5
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using volumes = tl::tensor<float, 4, 3, 5, 5>;
#else
using volumes = tl::tensor<float, 1, 4, 3, 5, 5>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv_transpose3d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<volumes, tl::tensor<float, 4, 2, 2, 3, 3>>();
