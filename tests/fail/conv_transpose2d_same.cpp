// expect: tapeless: transposed convolution(x, w): the padding is numbers, not same
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr tl::conv_transpose attributes{.stride = 2, .padding = tl::same};
#else
constexpr tl::conv_transpose attributes{.stride = 2, .padding = 1};
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv_transpose2d<attributes>(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 4, 8, 8>, tl::tensor<float, 4, 2, 3, 3>>();
