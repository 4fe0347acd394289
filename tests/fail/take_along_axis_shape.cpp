// expect: tapeless: take_along_axis<axis>(a, index): the axis exists, and index has a's rank and, beside the axis, its extents or 1
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::take_along_axis<1>(x, tl::argmax<1>(x));
#else
  return tl::take_along_axis<1>(x, tl::expand_dims<1>(tl::argmax<1>(x)));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
