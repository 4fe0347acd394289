// expect: tapeless: group_norm<groups>(x, gamma, beta): x is (N, C, ...), groups divides the static extent C
// extents: {2, 16, 4}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
  tl::var h = x;
#ifdef TAPELESS_BAD
  h = tl::group_norm<3>(h);
#else
  h = tl::group_norm<4>(h);
#endif
  return h.as<float, 2, 16, 4>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 16, 4>>();
