// expect: tapeless: keep<axis, mask>(a): the axis exists
// extents: 4, 8
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <array>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr int axis = 2;
#else
constexpr int axis = 0;
#endif
constexpr std::array<bool, 4> mask{true, false, true, false};
constexpr auto f = [](auto w) {
  tl::var h = w;
  h = tl::keep<axis, mask>(h);
  return h.as<float, 4, 8>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>>();
