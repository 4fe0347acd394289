// expect: tapeless: sampled_matmul(c, a, b), all sparse: all are float or all are double
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using number = std::int32_t;
#else
using number = float;
#endif
using left = tl::csr<number, 5, 4, 11>;
using right = tl::csr<number, 4, 6, 7>;
using result = tl::csr<number, 5, 6, 13>;
constexpr auto loss = [](auto a, auto b, auto c) {
  auto p = tl::sampled_matmul(c, a, b);
  return tl::square(p.values());
};
constexpr tl::cost cost = tl::jit(loss).cost<left, right, result>();
