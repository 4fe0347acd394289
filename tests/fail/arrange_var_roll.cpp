// expect: tapeless: roll<axis, shift>(a): the axis exists and is static
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x) {
  const tl::var v = x;
#ifdef TAPELESS_BAD
  return tl::sum(tl::roll<2, 1>(v).template as<float, 2, 3>());
#else
  return tl::sum(tl::roll<1, 1>(v).template as<float, 2, 3>());
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, 2, 3>>();
