// expect: tapeless: variance<axes...>(a), std_dev: axes are template arguments, as in variance<1>(a); behind a stand tl::over(mask), then tl::unbiased, then tl::keepdims, or some of them
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::std_dev(x, 1);
#else
  return tl::std_dev<1>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
