// expect: tapeless: var.as<T, extents...>(): the extents are these
// extents: {4, 7}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto w) {
  tl::var h = tl::matmul(x, w);
#ifdef TAPELESS_BAD
  return tl::sum(h.as<float, 4, 7>());
#else
  return tl::sum(h.as<float, 4, 3>());
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>, tl::tensor<float, 8, 3>>();
