// expect: tapeless: transposed convolution(x, w): the padding leaves an image
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr tl::conv_transpose1 attributes{.padding = 4};
#else
constexpr tl::conv_transpose1 attributes{.padding = 3};
#endif
constexpr auto f = [](auto x, auto w) {
  const tl::var h = x;
  return tl::conv_transpose1d<attributes>(h, w).template as<float, 2, 3, 1>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 4, 5>, tl::tensor<float, 4, 3, 3>>();
