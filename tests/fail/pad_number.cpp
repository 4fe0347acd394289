// expect: tapeless: pad<axis, before, after>(a): behind a stands tl::fill_value(v), tl::reflect, tl::edge or tl::wrap_around, or nothing
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::pad<1, 1, 1>(x, 3.0);
#else
  return tl::pad<1, 1, 1>(x, tl::fill_value(3.0));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
