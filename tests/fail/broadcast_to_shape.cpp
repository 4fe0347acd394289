// expect: tapeless: broadcast_to<extents...>(a): a's shape broadcasts to it
// extents: {8, 4}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::broadcast_to<8, 4>(x) * 2.0f;
#else
  return tl::broadcast_to<4, 8>(x) * 2.0f;
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
