// expect: tapeless: arithmetic op(a): the element type is float, double or int32; cast a mask first
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
  tl::var h = x;
#ifdef TAPELESS_BAD
  h = -h;
#else
  h = !h;
#endif
  return h.as<bool, 3>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<bool, 3>>();
