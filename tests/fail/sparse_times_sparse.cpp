// expect: tapeless: matmul(a, b): one of the two is sparse, the other a tensor; for two sparse ones there is sampled_matmul(c, a, b)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
constexpr auto loss = [](auto a, auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::matmul(tl::transpose(a), a)) + tl::sum(x);
#else
  return tl::sum(tl::matmul(tl::transpose(a), tl::matmul(a, x)));
#endif
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<matrix, tl::tensor<float, 7>>();
