// expect: tapeless: norm<axes...>(a, p): p is above 0
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x) {
#ifdef TAPELESS_BAD
  return tl::norm(x, 0);
#else
  return tl::norm(x, 1);
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, 8>>();
