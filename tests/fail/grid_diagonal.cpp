// expect: tapeless: diagonal<k>(a), trace<k>(a): a has two axes that it crosses
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::diagonal<5>(x));
#else
  return tl::sum(tl::diagonal<2>(x));
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, 2, 3>>();
