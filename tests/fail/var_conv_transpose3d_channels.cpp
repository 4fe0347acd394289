// expect: tapeless: transposed convolution(x, w): the channels of x are the filters of w
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using volumes = tl::tensor<float, 2, tl::dyn<'c'>, 3, 5, 5>;
#else
using volumes = tl::tensor<float, 2, 6, 3, 5, 5>;
#endif
constexpr auto f = [](auto x, auto w) {
  const tl::var h = x;
  return tl::conv_transpose3d(h, w).template as<float, 2, 4, 4, 7, 7>();
};
constexpr tl::cost cost = tl::jit(f).cost<volumes, tl::tensor<float, 6, 4, 2, 3, 3>>();
