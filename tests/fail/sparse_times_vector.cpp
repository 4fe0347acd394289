// expect: tapeless: sparse op(a, s): s is a number, a scalar or a matrix with the extents of a; A x is matmul(a, x), rows and columns have scale_rows and scale_columns
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
using factor = tl::tensor<float, 7>;
#else
using factor = tl::scalar<float>;
#endif
constexpr auto loss = [](auto s, auto a) {
  auto scaled = a * s;
  return tl::sum(scaled);
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<factor, matrix>();
