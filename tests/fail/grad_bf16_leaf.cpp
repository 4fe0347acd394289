// expect: tapeless: grad<i>(f): bf16 has no tangent: argument i is float, and f casts it to bf16
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct params {
#ifdef TAPELESS_BAD
  tl::tensor<tl::bf16, 8, 3> w;
#else
  tl::tensor<float, 8, 3> w;
#endif
};
constexpr auto loss = [](const auto& p, auto x) {
  return tl::sum(tl::matmul(tl::cast<tl::bf16>(x), tl::cast<tl::bf16>(p.w)));
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<params, tl::tensor<float, 4, 8>>();
