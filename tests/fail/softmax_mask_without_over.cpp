// expect: tapeless: softmax<axis>(a): the axis is a template argument, as in softmax<1>(a), and the last one if none is given; a mask is behind a, as tl::over(mask)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::softmax(x, x > 0.0f);
#else
  return tl::softmax(x, tl::over(x > 0.0f));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
