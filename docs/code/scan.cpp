// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

namespace tl = tapeless;

// [signature]
// x: tensor<float, 2, 3>
constexpr auto running = [](auto x) {
  auto a = tl::cumsum<1>(x);  // (2, 3): along each row
  auto b = tl::cumsum<0>(x);  // (2, 3): down each column
  auto c = tl::flip<1>(tl::cumsum<1>(tl::flip<1>(x))); // (2, 3): along each row from its end
  auto d = tl::cumprod<1>(x);
  auto e = tl::cummax<1>(tl::flip<1>(x));
  auto f = tl::logcumsumexp<1>(x);
  auto g = tl::linear_scan<1>(0.5f, x); // each row: what has come before counts half
  auto h = tl::prod<1>(x); // (2)
  return std::tuple{a, b, c, d, e, f, g, h};
};
// [/signature]

int main() {
  using X = tl::tensor<float, 2, 3>;
  tl::owned<X> x;
  count_up(*x);
  auto run = tl::jit(running).bind<X>();
  const auto [a, b, c, d, e, f, g, h] = run(*x);
  show("a", a);
  show("b", b);
  show("c", c);
  show("d", d);
  show("e", e);
  show("f", f);
  show("g", g);
  show("h", h);
  auto gradient = tl::jit(tl::grad([](auto z) { return tl::sum(tl::cumsum<1>(z)); })).bind<X>();
  show("gradient", gradient(*x));
  (*x)[1] = 0;
  auto of_products = tl::jit(tl::grad([](auto z) { return tl::sum(tl::cumprod<1>(z)); })).bind<X>();
  show("of products, x[0, 1] = 0", of_products(*x));
}
