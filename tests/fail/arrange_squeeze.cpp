// expect: tapeless: squeeze<axis>(a): the axis exists and has the extent 1
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::squeeze<1>(x));
#else
  return tl::sum(tl::squeeze<1>(tl::expand_dims<1>(x)));
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, 2, 3>>();
