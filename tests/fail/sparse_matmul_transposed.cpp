// expect: tapeless: matmul(a, b), a sparse: b is (n) or (n, k), n the columns of a
// extents: {7, 3}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
using rows = tl::tensor<float, 7, 3>;
#else
using rows = tl::tensor<float, 5, 3>;
#endif
constexpr auto loss = [](auto y, auto a) {
  auto g = tl::matmul(tl::transpose(a), y);
  return tl::sum(tl::tanh(g));
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<rows, matrix>();
