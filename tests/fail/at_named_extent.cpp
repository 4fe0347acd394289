// expect: tapeless: slice<axis, length>(a, start), at<axis>(a, i): the extent of the axis is static
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::at<0>(x, 0);
#else
  return tl::at<1>(x, 0);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, tl::dyn<'n'>, 8>>();
