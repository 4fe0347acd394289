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
  return std::tuple{a, b, c};
};
// [/signature]

int main() {
  using X = tl::tensor<float, 2, 3>;
  tl::owned<X> x;
  count_up(*x);
  auto run = tl::jit(running).bind<X>();
  const auto [a, b, c] = run(*x);
  show("a", a);
  show("b", b);
  show("c", c);
  auto gradient = tl::jit(tl::grad([](auto z) { return tl::sum(tl::cumsum<1>(z)); })).bind<X>();
  show("gradient", gradient(*x));
}
