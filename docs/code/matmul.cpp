// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

namespace tl = tapeless;

// [signature]
// a: tensor<float, 2, 3>   b: tensor<float, 5, 3, 4>   v: tensor<float, 3>
constexpr auto product = [](auto a, auto b, auto v) {
  auto c = tl::matmul(a, b);                   // (5, 2, 4): batch axes broadcast
  auto d = tl::matmul(a, v);                   // (2): a vector on the right is a column
  auto e = tl::matmul(v, tl::transpose(a));    // (2): on the left a row; the transposed operand is read in place
  auto f = tl::matmul(v, v);                   // ()
  return std::tuple{tl::sum<0>(c), d, e, f};
};
// [/signature]

int main() {
  using A = tl::tensor<float, 2, 3>;
  using B = tl::tensor<float, 5, 3, 4>;
  using V = tl::tensor<float, 3>;
  tl::owned<std::tuple<A, B, V>> in;
  count_up(*in);
  constexpr auto program = tl::jit(product);
  auto run = program.bind<A, B, V>();
  const auto [c, d, e, f] = run(std::get<0>(*in), std::get<1>(*in), std::get<2>(*in));
  show("sum<0>(c)", c);
  show("d", d);
  show("e", e);
  show("f", f);

  constexpr tl::cost cost = tl::jit([](auto a, auto b) { return tl::matmul(a, b); }).cost<A, B>();
  std::printf("matmul(a, b): %.0f flops = 5 * 2 * 2 * 4 * 3\n", cost.flops().at());
}
