// expect: tapeless: convolution(x, w, b): two or three tensors; stride, padding, dilation and groups are members of the template argument, as in conv2d<conv{.stride = 2}>(x, w)
// within: 25
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using images = tl::tensor<float, 2, 3, 8, 8>;
using filters = tl::tensor<float, 5, 3, 3, 3>;

constexpr auto f = [](auto x, auto w) {
#ifdef TAPELESS_BAD
  return tl::conv2d<1, 1>(x, w);
#else
  return tl::conv2d<tl::conv{.padding = 1}>(x, w);
#endif
};
void use() { auto run = tl::jit(f).bind<images, filters>(); }
