// expect: tapeless: convolution(x, w): the channels and filters are static and at least 1
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr tl::extent_t channels = tl::dyn<'c'>;
#else
constexpr tl::extent_t channels = 4;
#endif
constexpr auto f = [](auto x, auto w) {
  tl::var h = x;
  h = tl::conv2d(h, w);
  return h.as<float, 1, 6, 6, 6>();
};
constexpr tl::cost cost =
    tl::jit(f).cost<tl::tensor<float, 1, channels, 8, 8>, tl::tensor<float, 6, channels, 3, 3>>();
