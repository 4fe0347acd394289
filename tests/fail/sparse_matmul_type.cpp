// expect: tapeless: matmul(a, b): both are float or both are double
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
using vector = tl::tensor<double, 7>;
#else
using vector = tl::tensor<float, 7>;
#endif
constexpr auto product = [](auto x, auto a) {
  auto z = tl::matmul(a, x);
  return tl::sum(z);
};
constexpr tl::cost cost = tl::jit(tl::grad(product)).cost<vector, matrix>();
