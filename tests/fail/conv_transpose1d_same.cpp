// expect: tapeless: transposed convolution(x, w): the padding is numbers, not same
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr tl::conv_transpose1 attributes{.stride = 2, .padding = tl::same};
#else
constexpr tl::conv_transpose1 attributes{.stride = 2, .padding = {1, 2}};
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv_transpose1d<attributes>(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 4, 16>, tl::tensor<float, 4, 3, 5>>();
