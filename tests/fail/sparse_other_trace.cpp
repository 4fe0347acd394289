// expect: tapeless: sparse op(a, b): the operands belong to one trace
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
constexpr auto loss = [](auto a, auto x) {
#ifdef TAPELESS_BAD
  return tl::matmul(matrix{}, x);
#else
  return tl::matmul(a, x);
#endif
};
constexpr tl::cost cost = tl::jit(loss).cost<matrix, tl::tensor<float, 7>>();
