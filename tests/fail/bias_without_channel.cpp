// expect: tapeless: elementwise op(a, b): the shapes broadcast; the bias of the channels of images is tl::channel(b)
// extents: {5}
// within: 25
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using images = tl::tensor<float, 2, 3, 8, 8>;
using filters = tl::tensor<float, 5, 3, 3, 3>;

constexpr auto f = [](auto x, auto w, auto b) {
#ifdef TAPELESS_BAD
  return tl::conv2d<tl::conv{.padding = 1}>(x, w) + b;
#else
  return tl::conv2d<tl::conv{.padding = 1}>(x, w) + tl::channel(b);
#endif
};
void use() { auto run = tl::jit(f).bind<images, filters, tl::tensor<float, 5>>(); }
