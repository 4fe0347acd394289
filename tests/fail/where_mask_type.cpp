// expect: tapeless: where(c, a, b): c is a bool tensor
// extents: boolean
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::where(x, x, 0.0f);
#else
  return tl::where(x > 0.0f, x, 0.0f);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 8>>();
