// expect: tapeless: sparse a + b, a - b: both are sparse; a.with(f(a.values())) computes with the entries stored
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
constexpr auto loss = [](auto a) {
#ifdef TAPELESS_BAD
  return tl::sum(a + 1);
#else
  return tl::sum(a.with(a.values() + 1));
#endif
};
constexpr tl::cost cost = tl::jit(loss).cost<matrix>();
