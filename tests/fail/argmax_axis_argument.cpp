// expect: tapeless: argmax<axes...>(a): axes are template arguments, as in argmax<1>(a); behind a stands tl::keepdims or nothing, and no mask
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::argmax(x, 1);
#else
  return tl::argmax<1>(x, tl::keepdims);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
