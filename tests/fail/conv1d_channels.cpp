// expect: tapeless: convolution(x, w): the channels of x are groups times those of w
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using rows = tl::tensor<float, 2, 6, 16>;
#else
using rows = tl::tensor<float, 2, 4, 16>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv1d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<rows, tl::tensor<float, 3, 4, 5>>();
