// expect: tapeless: scatter_add_along_axis<axis>(a, index, d): these are the arguments, each a tensor
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::scatter_add_along_axis<1>(tl::argmax<1>(x, tl::keepdims), x);
#else
  return tl::scatter_add_along_axis<1>(x, tl::argmax<1>(x, tl::keepdims), tl::sum<1>(x, tl::keepdims));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
