// expect: tapeless: one_hot<T, n>(label): T and n are template arguments, as in one_hot<float, 10>(label)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::one_hot(tl::argmax<1>(x));
#else
  return tl::one_hot<float, 9>(tl::argmax<1>(x));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
