// expect: tapeless: slice<axis, length>(a, start), at<axis>(a, i): 0 <= start <= extent - length, 0 <= i < extent
// extents: {4}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  constexpr int last = 4;
#else
  constexpr int last = 3;
#endif
  auto s = tl::at<0>(x, 0);
  for (int i = 1; i <= last; ++i) s = s + tl::at<0>(x, i);
  return s;
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>>();
