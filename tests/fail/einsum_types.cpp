// expect: tapeless: einsum<subscripts>(a, ...): all are float or all are double
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto a, auto b) {
#ifdef TAPELESS_BAD
  return tl::einsum<"ij,jk->ik">(a, tl::cast<std::int32_t>(b));
#else
  return tl::einsum<"ij,jk->ik">(a, b);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 5>, tl::tensor<float, 5, 6>>();
