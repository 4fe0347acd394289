// expect: tapeless: take_along_axis<axis>(a, index): the axis is not empty where index is not
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto i) {
#ifdef TAPELESS_BAD
  return tl::take_along_axis<1>(x, i);
#else
  return tl::take_along_axis<0>(x, tl::slice<0, 0, 2>(i));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 0>, tl::tensor<std::int32_t, 4, 1>>();
