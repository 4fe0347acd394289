// expect: tapeless: transposed convolution(x, w): the channels of x are the filters of w
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using rows = tl::tensor<float, 2, 3, 16>;
#else
using rows = tl::tensor<float, 2, 4, 16>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv_transpose1d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<rows, tl::tensor<float, 4, 3, 5>>();
