// expect: tapeless: matmul(a, b), a sparse: b is (n) or (n, k), n the columns of a
// extents: {5}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
using vector = tl::tensor<float, 5>;
#else
using vector = tl::tensor<float, 7>;
#endif
constexpr auto loss = [](auto x, auto a) {
  auto z = tl::matmul(a, x);
  return tl::sum(tl::tanh(z));
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<vector, matrix>();
