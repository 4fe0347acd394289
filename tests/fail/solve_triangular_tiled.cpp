// expect: tapeless: solve_triangular(a, b): a is not tiled; csr_untiled(a) has its entries by rows
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 5, 11, tl::tiled>;
#else
using matrix = tl::csr<float, 5, 5, 11>;
#endif
constexpr auto loss = [](auto b, auto a) {
  auto x = tl::solve_triangular(a, b);
  return tl::sum(tl::tanh(x));
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<tl::tensor<float, 5>, matrix>();
