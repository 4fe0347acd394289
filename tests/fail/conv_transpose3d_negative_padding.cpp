// expect: tapeless: convolution(x, w): stride and dilation are 1 to 255, padding is 0 to 255
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr tl::conv_transpose3 attributes{.padding = {-1, 0, 0}};
#else
constexpr tl::conv_transpose3 attributes{.padding = {1, 0, 0}};
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv_transpose3d<attributes>(x, w); };
constexpr tl::cost cost =
    tl::jit(f).cost<tl::tensor<float, 1, 4, 3, 5, 5>, tl::tensor<float, 4, 2, 2, 3, 3>>();
