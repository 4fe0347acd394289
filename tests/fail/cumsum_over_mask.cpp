// expect: tapeless: cumsum<axis>(a): behind a stands nothing, no number and no mask
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::cumsum<1>(x, tl::over(x > 0.0f));
#else
  return tl::cumsum<1>(tl::where(x > 0.0f, x, 0.0f));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
