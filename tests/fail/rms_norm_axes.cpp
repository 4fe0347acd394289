// expect: tapeless: rms_norm<k>(x, gamma): x has at least k axes, and k is at least 1
// extents: {8, 3}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::rms_norm<0>(x);
#else
  return tl::rms_norm<1>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8, 3>>();
