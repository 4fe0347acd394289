// expect: tapeless: matmul(a, b), b sparse: a is (m) or (k, m), m the rows of b
// extents: {3, 7}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
using rows = tl::tensor<float, 3, 7>;
#else
using rows = tl::tensor<float, 3, 5>;
#endif
constexpr auto loss = [](auto x, auto a) {
  tl::var h = x;
  for (int i = 0; i < 2; ++i) h = tl::tanh(h);
  h = tl::matmul(h, a);
  return tl::sum(h.template as<float, 3, 7>());
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<rows, matrix>();
