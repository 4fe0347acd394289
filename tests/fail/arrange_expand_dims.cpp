// expect: tapeless: expand_dims<axis>(a): the result has the axis, and at most 6
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::expand_dims<3>(x));
#else
  return tl::sum(tl::expand_dims<2>(x));
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, 2, 3>>();
