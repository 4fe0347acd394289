// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

namespace tl = tapeless;

// [signature]
// x: tensor<float, 2, 3>   at: tensor<std::int32_t, 2, 4>
constexpr auto along = [](auto x, auto at) {
  auto a = tl::take_along_axis<1>(x, at);                               // (2, 4)
  auto b = tl::take_along_axis<1>(x, tl::expand_dims<1>(tl::argmax<1>(x))); // (2, 1): the maxima
  auto c = tl::scatter_add_along_axis<1>(x, at, a);                     // (2, 3)
  auto d = tl::scatter_max_along_axis<1>(x, at, tl::flip<0>(a));
  auto e = tl::scatter_min_along_axis<1>(x, at, tl::flip<0>(a));
  return std::tuple{a, b, c, d, e};
};
// [/signature]

int main() {
  using X = tl::tensor<float, 2, 3>;
  using I = tl::tensor<std::int32_t, 2, 4>;
  tl::owned<X> x;
  tl::owned<I> at;
  count_up(*x);
  for (int i = 0; i < 8; ++i) (*at)[i] = i % 3;
  auto run = tl::jit(along).bind<X, I>();
  const auto [a, b, c, d, e] = run(*x, *at);
  show("a", a);
  show("b", b);
  show("c", c);
  show("d", d);
  show("e", e);
  auto gradient =
      tl::jit(tl::grad([](auto z, auto i) { return tl::sum(tl::take_along_axis<1>(z, i)); })).bind<X, I>();
  show("gradient", gradient(*x, *at));
  (*at)[5] = 3;
  try {
    gradient(*x, *at);
  } catch (const tl::argument_error& error) {
    std::puts(error.what());
  }
}
