// expect: tapeless: elementwise op(a, b): the shapes broadcast; the bias of the channels of images is tl::channel(b)
// extents: {5}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using images = tl::tensor<float, 2, 3, 8, 8>;
using filters = tl::tensor<float, 5, 3, 3, 3>;

constexpr auto f = [](tl::var x, auto w, auto b) {
#ifdef TAPELESS_BAD
  x = tl::conv2d<tl::conv{.padding = 1}>(x, w) + b;
#else
  x = tl::conv2d<tl::conv{.padding = 1}>(x, w) + tl::channel(b);
#endif
  return x.as<float, 2, 5, 8, 8>();
};
void use() { auto run = tl::jit(f).bind<images, filters, tl::tensor<float, 5>>(); }
