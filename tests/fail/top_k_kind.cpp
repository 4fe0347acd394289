// expect: tapeless: top_k<k>(values): k is an integer or tl::percent{p}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::top_k<tl::keepdims>(x);
#else
  return tl::top_k<tl::percent{25}>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
