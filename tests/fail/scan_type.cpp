// expect: tapeless: running op<axis>(a): the element type is float or double; cast<float>(a) first
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::logcumsumexp<1>(x > 0.0f);
#else
  return tl::logcumsumexp<1>(tl::cast<float>(x > 0.0f));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
