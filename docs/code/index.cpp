// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <vector>

namespace tl = tapeless;

// [signature]
// x: tensor<float, 4, 3>   at: tensor<std::int32_t, 2>
constexpr auto indexing = [](auto x, auto at) {
  auto a = tl::iota<1>(x);                       // (1, 3) int32: 0, 1, 2
  auto b = tl::argmax<1>(x);                     // (4) int32; argmax(x) is the row-major position in all of x
  auto c = tl::gather<0>(x, at);                 // (2, 3): rows x[at[j]]
  auto d = tl::scatter_add<0, 4>(at, c);         // (4, 3): zeros, c added at the rows at[j]
  auto e = tl::gather<1>(x, b);                  // (4, 4): any int32 tensor is an index
  return std::tuple{a, b, c, d, e};
};
// [/signature]

int main() {
  using X = tl::tensor<float, 4, 3>;
  using at = tl::tensor<std::int32_t, 2>;
  tl::owned<X> x;
  count_up(*x);
  std::vector<std::int32_t> rows{3, 3};
  auto run = tl::jit(indexing).bind<X, at>();
  const auto [a, b, c, d, e] = run(*x, at(rows.data()));
  show("a", a);
  show("b", b);
  show("c", c);
  show("d", d);
  show("e", e);

  // an index from an argument is checked, a computed one is clamped
  rows[1] = 4;
  try {
    run(*x, at(rows.data()));
  } catch (const tl::argument_error& error) {
    std::puts(error.what());
  }
  auto clamped = tl::jit([](auto y, auto i) { return tl::gather<0>(y, i * 2); }).bind<X, at>();
  show("clamped", clamped(*x, at(rows.data())));
}
