// expect: tapeless: extents...: a named extent is written dyn<'n'>; 'n' alone is a number
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x) {
#ifdef TAPELESS_BAD
  return tl::broadcast_to<5, 'n'>(x);
#else
  return tl::broadcast_to<5, tl::dyn<'n'>>(x);
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, tl::dyn<'n'>>>();
