// expect: tapeless: iota<axis>(a): the axis exists
// extents: {4, 9}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
  tl::var h = x;
#ifdef TAPELESS_BAD
  h = tl::iota<-3>(h);
#else
  h = tl::iota<-2>(h);
#endif
  return h.as<std::int32_t, 4, 1>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
