// expect: tapeless: matmul(a, b): the inner extents agree; images (n, c, h, w) are rows (n, c h w) by tl::flatten(a), one image is tl::reshape<extents...>(a)
// extents: {192, 5}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using images = tl::tensor<float, 2, 3, 8, 8>;
using filters = tl::tensor<float, 5, 3, 3, 3>;

constexpr auto f = [](tl::var x, auto w) {
#ifdef TAPELESS_BAD
  x = tl::matmul(x, w);
#else
  x = tl::matmul(tl::flatten(x), w);
#endif
  return x.as<float, 2, 5>();
};
void use() { auto run = tl::jit(f).bind<images, tl::tensor<float, 192, 5>>(); }
