// expect: tapeless: sparse f(a): write a.with(f(a.values())), which computes with the entries stored
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
constexpr auto loss = [](auto a) {
#ifdef TAPELESS_BAD
  return tl::sum(sin(a));
#else
  return tl::sum(a.with(sin(a.values())));
#endif
};
constexpr tl::cost cost = tl::jit(loss).cost<matrix>();
