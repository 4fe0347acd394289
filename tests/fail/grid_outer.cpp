// expect: tapeless: outer(a, b), meshgrid(a, b): both have one axis
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::outer(x, x));
#else
  return tl::sum(tl::outer(tl::at<0>(x, 0), tl::at<0>(x, 1)));
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, 2, 3>>();
