// expect: tapeless: sampled_matmul(c, a, b), all sparse: all are float or all are double
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using left = tl::csr<float, 5, 4, 11>;
using result = tl::csr<float, 5, 6, 13>;
#ifdef TAPELESS_BAD
using right = tl::csr<double, 4, 6, 7>;
#else
using right = tl::csr<float, 4, 6, 7>;
#endif
constexpr auto loss = [](auto a, auto b, auto c) {
  auto p = tl::sampled_matmul(c, a, b);
  return tl::sum(tl::square(p.values()));
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<left, right, result>();
