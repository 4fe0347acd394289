// expect: tapeless: real op(a): the element type is float or double; cast<float>(a) first
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return sin(x);
#else
  return sin(tl::cast<float>(x));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<std::int32_t, 4>>();
