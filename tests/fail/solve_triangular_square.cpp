// expect: tapeless: solve_triangular(a, b): a is (n, n)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using vector = tl::tensor<float, 5>;
#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 6, 11>;
#else
using matrix = tl::csr<float, 5, 5, 11>;
#endif
constexpr auto loss = [](auto b, auto a) {
  auto x = tl::solve_triangular(a, b);
  return tl::sum(tl::tanh(x));
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<vector, matrix>();
