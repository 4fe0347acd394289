// expect: tapeless: reduction<axes...>(a): no axis is named twice
// extents: {4, 9
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
  tl::var h = x;
#ifdef TAPELESS_BAD
  h = tl::sum<0, -2>(h);
#else
  h = tl::sum<0>(h);
#endif
  return h.as<float, 9>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
