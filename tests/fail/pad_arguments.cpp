// expect: tapeless: pad<axis, before, after>(a): the axis, before and after are template arguments, as in pad<1, 0, 2>(a)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::pad(x, 1);
#else
  return tl::pad<1, 1, 1>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
