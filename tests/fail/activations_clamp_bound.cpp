// expect: tapeless: clamp(a, lo, hi): both bounds are given; with one alone it is max(a, lo) or min(a, hi)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::clamp(x, -1);
#else
  return tl::clamp(x, -1, 1);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
