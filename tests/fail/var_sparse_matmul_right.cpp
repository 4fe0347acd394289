// expect: tapeless: matmul(a, b), a sparse: b is (n) or (n, k), n the columns of a
// extents: {5}
// within: 40
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
  tl::var h = x;
  for (int i = 0; i < 2; ++i) h = tl::tanh(h);
  h = tl::matmul(a, h);
  return tl::sum(h.template as<float, 5>());
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<vector, matrix>();
