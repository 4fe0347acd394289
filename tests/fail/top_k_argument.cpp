// expect: tapeless: top_k<k>(values): k is a template argument, as in top_k<64>(values)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::top_k(x, 3);
#else
  return tl::top_k<3>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
