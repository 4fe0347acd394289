// expect: tapeless: min<axes...>(a): axes are template arguments, as in min<1>(a); behind a stand tl::over(mask), then tl::keepdims, or none of them; min(a, b) is elementwise
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::min(x, tl::keepdims, 1);
#else
  return tl::min<1>(x, tl::keepdims);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
