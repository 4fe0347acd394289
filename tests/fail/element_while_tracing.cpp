// expect: tapeless: x[i]: a tensor has no elements while tracing; tl::at<axis>(x, i) is traced
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(x - x(2, 0));
#else
  return tl::sum(x - tl::slice<1, 0, 1>(tl::slice<0, 2, 3>(x)));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 3>>();
