// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <array>

namespace tl = tapeless;

// [signature]
// x: tensor<float, 2, 3>   v: tensor<float, 3>
constexpr std::array<bool, 3> outer{true, false, true};
constexpr auto shape = [](auto x, auto v) {
  auto a = tl::reshape<3, 2>(x);             // (3, 2): the same elements in row-major order
  auto b = tl::flatten(tl::reshape<2, 3, 1>(x)); // (2, 3): [n, ...] -> [n, product of the rest]
  auto c = tl::transpose(x);                 // (3, 2): the last two axes exchanged
  auto d = tl::transpose<1, 0>(x);           // (3, 2): axis i of the result is axis P_i of x
  auto e = tl::slice<1, 0, 2>(x);            // (2, 2): elements [0, 2) of axis 1
  auto f = tl::pad<0, 1, 0>(v);              // (4): one zero before, none behind
  auto g = tl::concat<1>(x, e, x);           // (2, 8)
  auto h = tl::broadcast_to<2, 3>(v);        // (2, 3)
  auto i = tl::channel(v);                   // (3, 1, 1): a bias for the channel axis of (n, 3, h, w)
  auto j = tl::keep<1, outer>(x);            // (2, 3): zeros where the mask is false
  auto k = tl::slice<1, 2>(x, 1);            // (2, 2): two elements of axis 1, from 1 on
  auto l = tl::at<1>(x, 0);                  // (2): column 0
  for (int column = 1; column < 3; ++column) l = l * tl::at<1>(x, column);
  auto m = tl::flip<1>(x);                   // (2, 3): axis 1 from its end
  return std::tuple{a, b, c, d, e, f, g, h, i, j, k, l, m};
};
// [/signature]

int main() {
  using X = tl::tensor<float, 2, 3>;
  using V = tl::tensor<float, 3>;
  tl::owned<std::tuple<X, V>> in;
  count_up(*in);
  auto run = tl::jit(shape).bind<X, V>();
  const auto [a, b, c, d, e, f, g, h, i, j, k, l, m] = run(std::get<0>(*in), std::get<1>(*in));
  show("a", a);
  show("b", b);
  show("c", c);
  show("d", d);
  show("e", e);
  show("f", f);
  show("g", g);
  show("h", h);
  show("i", i);
  show("j", j);
  show("k", k);
  show("l", l);
  show("m", m);
}
