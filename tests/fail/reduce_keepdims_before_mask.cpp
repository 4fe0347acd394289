// expect: tapeless: mean<axes...>(a): axes are template arguments, as in mean<1>(a); behind a stand tl::over(mask), then tl::keepdims, or none of them
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::mean<1>(x, tl::keepdims, tl::over(x > 0.0f));
#else
  return tl::mean<1>(x, tl::over(x > 0.0f), tl::keepdims);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
