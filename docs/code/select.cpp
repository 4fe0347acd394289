// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <cmath>
#include <tuple>
#include <vector>

namespace tl = tapeless;

// [signature]
// losses: tensor<float, 8>   classes: tensor<std::int32_t, 8>   count: std::int32_t
constexpr auto selecting = [](auto losses, auto classes, auto count) {
  auto a = tl::top_k<3>(losses);                          // (3) int32, ascending positions
  auto b = tl::bottom_k<tl::percent{25}>(losses);         // (2): a quarter of 8
  auto c = tl::top_k<4, 'k'>(losses, count);              // (k): count of them, at most 4
  auto d = tl::where<'m'>(losses > 2.0f);                 // (m): those that hold
  auto e = tl::top_k_of_each<1, 2, 'o'>(losses, classes); // (o): the greatest of class 0 and of class 1
  auto f = tl::gather(losses, d);                         // (m): the losses of these rows
  return std::tuple{a, b, c, d, e, f};
};
// [/signature]

int main() {
  using numbers = tl::tensor<float, 8>;
  using integers = tl::tensor<std::int32_t, 8>;
  std::vector<float> losses{1, 5, 2, 5, NAN, 0, 3, 2};
  std::vector<std::int32_t> classes{0, 0, 0, 0, 1, 1, 1, 7};
  auto run = tl::jit(selecting).bind<numbers, integers, std::int32_t>();
  const auto [a, b, c, d, e, f] = run(numbers(losses.data()), integers(classes.data()), 2);
  show("a", a);
  show("b", b);
  show("c", c);
  show("d", d);
  show("e", e);
  show("f", f);
}
