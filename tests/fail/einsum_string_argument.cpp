// expect: tapeless: einsum<subscripts>(a, ...): the subscripts are a template argument, as in
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::einsum("ij,kj->ik", x, x);
#else
  return tl::einsum<"ij,kj->ik">(x, x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
