// expect: tapeless: real op(a, b): the element type is float or double; cast both first
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
  tl::var h = x;
#ifdef TAPELESS_BAD
  h = pow(h, 2);
#else
  h = h * 2;
#endif
  return h.as<std::int32_t, 3>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<std::int32_t, 3>>();
