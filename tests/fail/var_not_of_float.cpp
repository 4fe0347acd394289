// expect: tapeless: logical op(a): the element type is bool
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
  tl::var h = x;
#ifdef TAPELESS_BAD
  h = tl::cast<float>(!h);
#else
  h = tl::cast<float>(!(h > 0.0));
#endif
  return h.as<float, 3>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 3>>();
