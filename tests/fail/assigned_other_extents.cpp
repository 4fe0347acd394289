// expect: tapeless: h = y: h keeps the element type and extents that it was declared with; tl::var h = x takes any
// extents: {16, 4
// within: 25
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct params {
  tl::tensor<float, 8, 4> w;
  tl::tensor<float, 4> b;
};
using X = tl::tensor<float, 16, 8>;

constexpr auto f = [](const params& p, X x) {
#ifdef TAPELESS_BAD
  auto h = x;
#else
  tl::var h = x;
#endif
  h = tanh(tl::matmul(h, p.w));
  return tl::var(tl::sum(h)).as<float>();
};
void use() { auto run = tl::jit(tl::value_and_grad(f)).bind<params, X>(); }
