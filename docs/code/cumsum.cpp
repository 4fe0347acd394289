// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

namespace tl = tapeless;

// [signature]
// x: tensor<float, 2, 3>
constexpr auto running = [](auto x) {
  auto a = tl::cumsum<1>(x);  // (2, 3): along each row
  auto b = tl::cumsum<0>(x);  // (2, 3): down each column; negative axes count from the end
  return std::tuple{a, b};
};
// [/signature]

int main() {
  using X = tl::tensor<float, 2, 3>;
  tl::owned<X> x;
  count_up(*x);
  auto run = tl::jit(running).bind<X>();
  const auto [a, b] = run(*x);
  show("a", a);
  show("b", b);
  auto gradient = tl::jit(tl::grad([](auto z) { return tl::sum(tl::cumsum<1>(z)); })).bind<X>();
  show("gradient", gradient(*x));
}
