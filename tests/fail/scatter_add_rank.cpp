// expect: tapeless: scatter_add<axis, n>(index, d): the result has at most 6 axes
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto i) {
#ifdef TAPELESS_BAD
  return tl::scatter_add<0, 3>(i, x);
#else
  return tl::scatter_add<0, 3>(i, tl::reshape<2, 9>(x));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 1, 1, 1, 2, 9>, tl::tensor<std::int32_t>>();
