// expect: tapeless: x.extent(axis), x.size(): a named extent has no value while tracing
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto n) {
#ifdef TAPELESS_BAD
  return tl::sum(x) / x.extent(0) + n;
#else
  return tl::sum(x) / n * x.extent(1);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, tl::dyn<'n'>, 3>, float>();
