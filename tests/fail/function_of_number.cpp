// expect: tapeless: f(a): a is a tensor; the function of a number alone is that of std, as std::sin(2.0)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return x * tl::sin(2.0);
#else
  return x * tl::sin(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
