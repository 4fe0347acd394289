// expect: tapeless: op(a, over(mask)): the mask is bool
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto w) {
#ifdef TAPELESS_BAD
  return tl::softmax(x, tl::over(w));
#else
  return tl::softmax(x, tl::over(w != 0.0f));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>, tl::tensor<float, 4, 9>>();
