// expect: tapeless: transpose<axes...>(a): the axes are a permutation of a's
// extents: 0, 2, 2
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::transpose<0, 2, 2>(x) * 2.0f;
#else
  return tl::transpose<0, 2, 1>(x) * 2.0f;
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 3, 4>>();
