// expect: tapeless: gather<axis>(x, index): the axis is not empty where index is not
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto i) {
#ifdef TAPELESS_BAD
  return tl::gather<0>(x, i);
#else
  return tl::gather<1>(x, i);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 0, 9>, tl::tensor<std::int32_t, 2>>();
