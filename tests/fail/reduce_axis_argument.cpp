// expect: tapeless: sum<axes...>(a): axes are template arguments, as in sum<1>(a); behind a stand tl::over(mask), then tl::keepdims, or none of them
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(x, 1);
#else
  return tl::sum<1>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
