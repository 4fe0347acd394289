// expect: tapeless: einsum<subscripts>(a, ...): a product of the first operands has at most 6 axes
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto a, auto b, auto c) {
#ifdef TAPELESS_BAD
  return tl::einsum<"abcd,efgh,abcdef->gh">(a, b, c);
#else
  return tl::einsum<"abcd,abcdef,efgh->gh">(a, c, b);
#endif
};
constexpr tl::cost cost = tl::jit(f)
                              .cost<tl::tensor<float, 2, 2, 2, 2>, tl::tensor<float, 2, 2, 2, 2>,
                                    tl::tensor<float, 2, 2, 2, 2, 2, 2>>();
