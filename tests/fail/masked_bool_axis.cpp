// expect: tapeless: reduction<axes...>(a): an axis is a number; to keep the axes, tl::keepdims stands behind a
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto m) {
#ifdef TAPELESS_BAD
  return tl::sum<0, true>(x, tl::over(m));
#else
  return tl::sum<0>(x, tl::over(m), tl::keepdims);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>, tl::tensor<bool, 4, 9>>();
