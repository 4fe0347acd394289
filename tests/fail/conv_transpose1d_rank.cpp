// expect: tapeless: conv_transpose1d<conv_transpose1>(x, w): x is (N, K, P)
// extents: {2, 4, 1, 16}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using rows = tl::tensor<float, 2, 4, 1, 16>;
#else
using rows = tl::tensor<float, 2, 4, 16>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv_transpose1d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<rows, tl::tensor<float, 4, 3, 5>>();
