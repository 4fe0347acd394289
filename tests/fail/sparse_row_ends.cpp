// expect: tapeless: sparse op(a, b): both have one pattern, as a and a.with(values) have
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
using wide = tl::csr<float, 5, 7, 11, std::int64_t>;
constexpr auto total = [](auto a, auto b) {
#ifdef TAPELESS_BAD
  auto c = a + b;
#else
  auto c = a + a.with(b.values());
#endif
  return tl::sum(c);
};
constexpr tl::cost cost = tl::jit(total).cost<matrix, wide>();
