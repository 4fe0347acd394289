// expect: tapeless: top_k<k>(values): values is a tensor; a var is converted with as<T, extents...>()
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::top_k<3>(tl::var(x));
#else
  return tl::top_k<3>(tl::var(x).as<float, 8>());
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
