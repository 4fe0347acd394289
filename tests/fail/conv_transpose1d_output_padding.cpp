// expect: tapeless: transposed convolution(x, w): 0 <= output_padding < stride
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr tl::conv_transpose1 attributes{.stride = 2, .output_padding = 2};
#else
constexpr tl::conv_transpose1 attributes{.stride = 2, .output_padding = 1};
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv_transpose1d<attributes>(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 4, 16>, tl::tensor<float, 4, 3, 5>>();
