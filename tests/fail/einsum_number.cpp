// expect: tapeless: einsum<subscripts>(a, ...): the operands are tensors, at least one; multiply by a number behind it
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::einsum<"ij,">(x, 2.0f);
#else
  return 2.0f * tl::einsum<"ij">(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
