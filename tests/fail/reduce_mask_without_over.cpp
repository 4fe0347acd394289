// expect: tapeless: max<axes...>(a): axes are template arguments, as in max<1>(a); behind a stand tl::over(mask), then tl::keepdims, or none of them; max(a, b) is elementwise
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::max<1>(x, x > 0.0f);
#else
  return tl::max<1>(x, tl::over(x > 0.0f));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
