// expect: tapeless: one_hot<T, n>(label): n is a template argument, as in one_hot<float, 10>(label)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::one_hot<float>(tl::argmax<1>(x), 9);
#else
  return tl::one_hot<float, 9>(tl::argmax<1>(x));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
