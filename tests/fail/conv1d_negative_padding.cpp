// expect: tapeless: convolution(x, w): stride and dilation are 1 to 255, padding is 0 to 255
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr tl::conv1 attributes{.padding = -1};
#else
constexpr tl::conv1 attributes{.padding = 1};
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv1d<attributes>(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 4, 16>, tl::tensor<float, 3, 4, 5>>();
