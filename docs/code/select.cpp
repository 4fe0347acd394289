// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <tuple>
#include <utility>
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

// [subset]
// rows: tensor<std::int32_t, 3>, drawn by the caller; x: tensor<float, 8>
constexpr auto of_subset = [](auto w, auto x, auto rows) {
  auto losses = tl::square(w * x - 1.0f); // (8)
  return tl::mean(tl::gather(losses, rows));
};
constexpr auto step_of_subset = tl::jit(tl::value_and_grad<0>(of_subset));
using drawn = tl::tensor<std::int32_t, 3>;
static_assert(step_of_subset.cost<float, tl::tensor<float, 8>, drawn>().densified == 0);
// [/subset]

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

  std::mt19937 random(1);
  std::vector<std::int32_t> order{0, 1, 2, 3, 4, 5, 6, 7};
  for (std::size_t i = 0; i < 3; ++i) std::swap(order[i], order[i + random() % (order.size() - i)]);
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
  auto run_subset = step_of_subset.bind<float, numbers, drawn>();
  const auto [value, gradient] = run_subset(0.5f, numbers(x.data()), drawn(order.data()));
  show("subset", drawn(order.data()));
  show("value", value);
  show("gradient", gradient);
}
