// expect: tapeless: reshape<extents...>(a): the number of elements stays
// extents: {8, 8}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::reshape<4, 12>(x);
#else
  return tl::reshape<4, 16>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8, 8>>();
