// expect: tapeless: matmul(a, b): the inner extents agree
// extents: {16, 3}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using weights = tl::tensor<float, 16, 3>;
#else
using weights = tl::tensor<float, 8, 3>;
#endif
constexpr auto loss = [](auto x, auto w) {
  auto h = tl::matmul(x, w);
  return tl::sum(tl::tanh(h));
};
constexpr tl::cost cost = tl::jit(tl::grad<1>(loss)).cost<tl::tensor<float, 4, 8>, weights>();
