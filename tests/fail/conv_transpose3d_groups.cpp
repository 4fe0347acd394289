// expect: tapeless: convolution(x, w): groups divides the filters of w
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr int groups = 3;
#else
constexpr int groups = 2;
#endif
constexpr auto f = [](auto x, auto w) {
  return tl::conv_transpose3d<tl::conv_transpose3{.groups = groups}>(x, w);
};
constexpr tl::cost cost =
    tl::jit(f).cost<tl::tensor<float, 1, 4, 3, 5, 5>, tl::tensor<float, 4, 2, 2, 3, 3>>();
