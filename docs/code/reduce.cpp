// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <vector>

namespace tl = tapeless;

// [signature]
// x: tensor<float, 2, 3>
constexpr auto reduce = [](auto x) {
  auto a = tl::sum(x);                  // (): all axes
  auto b = tl::mean<0>(x);              // (3)
  auto c = tl::max<-1>(x);              // (2): negative axes count from the end
  auto d = tl::logsumexp<1>(x);         // (2)
  auto e = tl::sum<1>(x, tl::keepdims); // (2, 1)
  auto f = x / e;                       // (2, 3): what keepdims is for
  return std::tuple{a, b, c, d, e, f};
};
// [/signature]

int main() {
  using X = tl::tensor<float, 2, 3>;
  tl::owned<X> x;
  count_up(*x);
  auto run = tl::jit(reduce).bind<X>();
  const auto [a, b, c, d, e, f] = run(*x);
  show("a", a);
  show("b", b);
  show("c", c);
  show("d", d);
  show("e", e);
  show("f", f);

  // no elements
  const std::vector<float> nothing;
  using column = tl::tensor<const float, tl::dyn<'n'>>;
  auto empty = tl::jit([](auto v) { return std::tuple{tl::sum(v), tl::mean(v)}; }).bind<column>(tl::dim<'n'>(4));
  const auto [sum, mean] = empty(column(nothing, 0));
  show("sum", sum);
  std::printf("mean is NaN: %s\n", mean[0] != mean[0] ? "yes" : "no");
  auto largest = tl::jit([](auto v) { return tl::max(v); }).bind<column>(tl::dim<'n'>(4));
  try {
    largest(column(nothing, 0));
  } catch (const tl::argument_error& error) {
    std::puts(error.what());
  }
}
