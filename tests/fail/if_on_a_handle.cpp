// expect: tapeless: if (x): a traced condition has no value while tracing; use where(c, a, b)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  if (tl::sum(x) > 0.0f) return x * 2.0f;
  return x * 3.0f;
#else
  return tl::where(tl::sum(x) > 0.0f, x * 2.0f, x * 3.0f);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
