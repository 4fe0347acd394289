// expect: tapeless: sparse op(a, s): s is a number, a scalar or a matrix with the extents of a; A x is matmul(a, x), rows and columns have scale_rows and scale_columns
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
using operand = tl::tensor<float, 5>;
#else
using operand = tl::scalar<float>;
#endif
constexpr auto loss = [](auto x, auto l, auto a) {
  tl::var h = x;
  for (int i = 0; i < 2; ++i) h = tl::tanh(h);
  return tl::sum(a * h) + tl::sum(l);
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<operand, tl::tensor<float, 5, 3>, matrix>();
