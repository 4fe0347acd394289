// expect: tapeless: transposed convolution(x, w): the channels of x are the filters of w
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using images = tl::tensor<float, 1, 2, 8, 8>;
#else
using images = tl::tensor<float, 1, 4, 8, 8>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv_transpose2d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<images, tl::tensor<float, 4, 2, 3, 3>>();
