// expect: tapeless: pad<axis, before, after>(a, tl::fill_value(v)): a is float or double, or int32 and v an integer; cast a first
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::pad<1, 1, 1>(x > 0.0f, tl::fill_value(1));
#else
  return tl::pad<1, 1, 1>(x, tl::fill_value(1));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
