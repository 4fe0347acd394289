// expect: tapeless: roll<axis, shift>(a): the axis exists and is static
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::roll<0, 1>(x));
#else
  return tl::sum(tl::roll<1, 1>(x));
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, tl::dyn<'n'>, 3>>();
