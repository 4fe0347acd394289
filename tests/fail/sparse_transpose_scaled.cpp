// expect: tapeless: a transpose of a sparse a is an operand of matmul and solve_triangular; scale, sum and sample a itself
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
constexpr auto loss = [](auto a, auto s) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::scale_rows(s, tl::transpose(a)));
#else
  return tl::sum(tl::scale_columns(tl::transpose(tl::transpose(a)), s));
#endif
};
constexpr tl::cost cost = tl::jit(loss).cost<matrix, tl::tensor<float, 7>>();
