// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

namespace tl = tapeless;

// [signature]
// x: tensor<float, 1, 1, 4, 4>
constexpr auto pools = [](auto x) {
  auto a = tl::max_pool2d<tl::pool{.kernel = 2}>(x);                               // (1, 1, 2, 2)
  auto b = tl::max_pool2d<tl::pool{.kernel = 3, .stride = 2, .padding = 1}>(x);    // (1, 1, 2, 2)
  auto c = tl::avg_pool2d<tl::pool{.kernel = {2, 4}}>(x);                          // (1, 1, 2, 1)
  auto d = tl::avg_pool2d<tl::pool{.kernel = 2, .stride = 2, .padding = 1}>(x);    // (1, 1, 3, 3): divides by 4
  auto e = tl::avg_pool2d<tl::pool{.kernel = 2, .stride = 2, .padding = 1, .count_padding = false}>(x); // by 1, 2, 4
  return std::tuple{a, b, c, d, e};
};
// [/signature]

int main() {
  using X = tl::tensor<float, 1, 1, 4, 4>;
  tl::owned<X> x;
  count_up(*x);
  auto run = tl::jit(pools).bind<X>();
  const auto [a, b, c, d, e] = run(*x);
  show("a", a);
  show("b", b);
  show("c", c);
  show("d", d);
  show("e", e);
}
