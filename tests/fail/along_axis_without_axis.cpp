// expect: tapeless: take_along_axis<axis>(a, index): the axis is a template argument, as in take_along_axis<1>(a, index)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::take_along_axis(x, tl::argmax<1>(x, tl::keepdims));
#else
  return tl::take_along_axis<1>(x, tl::argmax<1>(x, tl::keepdims));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
