// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

namespace tl = tapeless;

// [signature]
// x: tensor<float, 2, 3>   row: tensor<float, 3>   i: tensor<std::int32_t, 3>
constexpr auto elementwise = [](auto x, auto row, auto i) {
  auto a = -x + row - 2.0 * x / row;            // (2, 3): broadcast as in NumPy; a number is a rank-0 operand
  auto b = max(x, row) + min(x, 2.0);           // (2, 3)
  auto c = pow(x, 2.0) + square(x) + sqrt(x);   // (2, 3)
  auto d = exp(-x) + log(x) + tanh(x);          // (2, 3)
  auto e = sigmoid(x) + relu(x - 3.0);          // (2, 3)
  auto mask = (x > row && x != 4.0) || !(row <= 2.0) || x < 1.0 || x >= 6.0 || i == 1; // (2, 3) bool
  auto f = where(mask, x, 0.0);                 // (2, 3)
  auto g = tl::cast<std::int32_t>(x) + i * 2;   // (2, 3) int32, with operators of its own: integer.md
  auto h = x * tl::stop_gradient(x);            // (2, 3)
  auto k = tl::cast<double>(x) * 0.1;           // (2, 3) double
  return std::tuple{a, b, c, d, e, mask, f, g, h, k};
};
// [/signature]

int main() {
  using X = tl::tensor<float, 2, 3>;
  using row = tl::tensor<float, 3>;
  using index = tl::tensor<std::int32_t, 3>;
  tl::owned<std::tuple<X, row, index>> in;
  count_up(*in);
  auto run = tl::jit(elementwise).bind<X, row, index>();
  const auto [a, b, c, d, e, mask, f, g, h, k] = run(std::get<0>(*in), std::get<1>(*in), std::get<2>(*in));
  show("a", a);
  show("b", b);
  show("c", c);
  show("d", d);
  show("e", e);
  show("mask", mask);
  show("f", f);
  show("g", g);
  show("h", h);
  show("k", k);
}
