// expect: tapeless: a transpose of a sparse a is an operand of matmul and solve_triangular; scale, sum and sample a itself
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
using product = tl::csr<float, 7, 7, 20>;
constexpr auto loss = [](auto c, auto a, auto b) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::sampled_matmul(c, tl::transpose(a), a)) + tl::sum(b);
#else
  return tl::sum(tl::sampled_matmul(c, b, a));
#endif
};
constexpr tl::cost cost = tl::jit(loss).cost<product, matrix, tl::csr<float, 7, 5, 11>>();
