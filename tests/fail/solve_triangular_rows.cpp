// expect: tapeless: solve_triangular(a, b): b is (n) or (n, k), n the rows of a
// extents: {4}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 5, 11>;
#ifdef TAPELESS_BAD
using vector = tl::tensor<float, 4>;
#else
using vector = tl::tensor<float, 5>;
#endif
constexpr auto loss = [](auto b, auto a) {
  auto x = tl::solve_triangular(a, b);
  return tl::sum(tl::tanh(x));
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<vector, matrix>();
