// expect: tapeless: ~a: the element type is int32; of a mask it is !a; cast<std::int32_t>(a) real numbers first
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return ~x;
#else
  return !x;
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<bool, 4, 9>>();
