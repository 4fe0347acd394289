// expect: tapeless: reduction<axes...>(a): the axes exist
// extents: {2, 8}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum<2>(x);
#else
  return tl::sum<1>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 8>>();
