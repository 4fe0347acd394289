// expect: tapeless: convolution(x, w): the channels of x are groups times those of w
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr int groups = 3;
#else
constexpr int groups = 2;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv3d<tl::conv3{.groups = groups}>(x, w); };
constexpr tl::cost cost =
    tl::jit(f).cost<tl::tensor<float, 1, 4, 3, 5, 5>, tl::tensor<float, 6, 2, 2, 3, 3>>();
