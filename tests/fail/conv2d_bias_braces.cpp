// expect: tapeless: convolution(x, w, b): two or three tensors; stride, padding, dilation and groups are members of the template argument, as in conv2d<conv{.stride = 2}>(x, w)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto w, auto b) {
#ifdef TAPELESS_BAD
  return tl::conv2d(x, w, b, {.stride = 2});
#else
  return tl::conv2d<tl::conv{.stride = 2}>(x, w, b);
#endif
};
constexpr tl::cost cost =
    tl::jit(f).cost<tl::tensor<float, 1, 4, 12, 12>, tl::tensor<float, 6, 4, 3, 3>, tl::tensor<float, 6>>();
