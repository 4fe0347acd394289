// expect: tapeless: scale_columns(a, s): s is (n), n the columns of a
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
using operand = tl::tensor<float, 5>;
#else
using operand = tl::tensor<float, 7>;
#endif
constexpr auto loss = [](auto x, auto l, auto a) {
  tl::var h = x;
  for (int i = 0; i < 2; ++i) h = tl::tanh(h);
  return tl::sum(tl::scale_columns(a, h)) + tl::sum(l);
};
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<operand, tl::tensor<float, 5, 3>, matrix>();
