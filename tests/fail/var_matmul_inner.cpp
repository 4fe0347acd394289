// expect: tapeless: matmul(a, b): the inner extents agree
// extents: {16, 4}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct params {
  std::array<tl::tensor<float, 8, 8>, 3> body;
#ifdef TAPELESS_BAD
  tl::tensor<float, 16, 4> head;
#else
  tl::tensor<float, 8, 4> head;
#endif
};
constexpr auto net = [](const auto& p, auto x) {
  tl::var h = x;
  for (const auto& w : p.body) h = tl::tanh(tl::matmul(h, w));
  h = tl::matmul(h, p.head);
  return tl::sum(h.template as<float, 2, 4>());
};
constexpr tl::cost cost = tl::jit(tl::grad(net)).cost<params, tl::tensor<float, 2, 8>>();
