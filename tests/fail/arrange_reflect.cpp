// expect: tapeless: pad<axis, before, after>(a, mode): the axis exists and is static, and is long enough for the border
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::pad<1, 3, 0>(x, tl::reflect));
#else
  return tl::sum(tl::pad<1, 2, 0>(x, tl::reflect));
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, 2, 3>>();
