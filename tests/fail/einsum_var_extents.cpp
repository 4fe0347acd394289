// expect: tapeless: einsum<subscripts>(a, ...): a letter stands for one extent
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x, auto y) {
  const tl::var a = x;
#ifdef TAPELESS_BAD
  return tl::einsum<"ij,kj->">(a, y).template as<float>();
#else
  return tl::einsum<"ij,jk->">(a, y).template as<float>();
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, 4, 5>, tl::tensor<float, 5, 6>>();
