// expect: tapeless: slice<axis, length>(a, start), at<axis>(a, i): 0 <= start <= extent - length, 0 <= i < extent
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::at<0>(x, -1);
#else
  return tl::at<0>(x, 3);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>>();
