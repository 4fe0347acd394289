// expect: tapeless: elementwise op(a, b): the operands belong to one trace
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  tl::tensor<float, 8> zero{};
#else
  auto zero = x - x;
#endif
  return x + zero;
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
