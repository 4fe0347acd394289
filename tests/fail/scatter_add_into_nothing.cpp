// expect: tapeless: scatter_add<axis, n>(index, d): n is at least 1 where index is not empty
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto i) {
#ifdef TAPELESS_BAD
  return tl::scatter_add<0, 0>(i, x);
#else
  return tl::scatter_add<0, 1>(i, x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 9>, tl::tensor<std::int32_t, 2>>();
