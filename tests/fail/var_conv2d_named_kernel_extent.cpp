// expect: tapeless: convolution(x, w): the kernel extents are static and at least 1
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using weights = tl::tensor<float, 6, 4, 3, tl::dyn<'s'>>;
#else
using weights = tl::tensor<float, 6, 4, 3, 1>;
#endif
constexpr auto f = [](auto x, auto w) {
  tl::var h = x;
  h = tl::conv2d(h, w);
  return h.as<float, 1, 6, 6, 8>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 4, 8, 8>, weights>();
