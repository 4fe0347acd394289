// expect: tapeless: grad<i>(f): every leaf of argument i is float or double; integers and bool have no tangent
// extents: i32
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct params {
  tl::tensor<float, 8, 3> w;
#ifdef TAPELESS_BAD
  tl::tensor<std::int32_t, 3> b;
#else
  tl::tensor<float, 3> b;
#endif
};
constexpr auto loss = [](const auto& p, auto x) {
  return tl::sum(tl::matmul(x, p.w)) + tl::sum(tl::cast<float>(p.b));
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<params, tl::tensor<float, 4, 8>>();
