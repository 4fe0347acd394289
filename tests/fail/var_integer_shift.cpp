// expect: tapeless: integer op(a, b): the element type is int32; a % b of real numbers is fmod or remainder, a & b of masks a && b
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
  tl::var h = x;
#ifdef TAPELESS_BAD
  h = 1 << h;
#else
  h = 1 << tl::cast<std::int32_t>(h);
#endif
  return h.as<std::int32_t, 3>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 3>>();
