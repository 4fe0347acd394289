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
// [masks]
// x: tensor<float, 2, 3>   m: tensor<bool, 2, 3>, 1 0 1 / 0 0 1
constexpr auto masked = [](auto x, auto m) {
  auto a = tl::mean<1>(x, tl::over(m));    // (2): of the elements at which m is true
  auto b = tl::min<0>(x);                  // (3)
  auto c = tl::min<0>(x, tl::over(m));     // (3): infinity where none counts
  auto d = tl::softmax(x, tl::over(m));    // (2, 3): 0 where m is false
  auto e = tl::any<0>(m), f = tl::all(m);  // (3), (): bool
  auto g = tl::logaddexp(x, 4.0f);         // (2, 3): log(exp(x) + exp(4))
  return std::tuple{a, b, c, d, e, f, g};
};
// [/masks]

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

  bool m[] = {true, false, true, false, false, true};
  auto over_mask = tl::jit(masked).bind<X, tl::tensor<bool, 2, 3>>();
  const auto [mean_m, min_0, min_m, softmax_m, any_0, all_m, sums] = over_mask(*x, tl::tensor<bool, 2, 3>(m));
  show("mean, m", mean_m);
  show("min", min_0);
  show("min, m", min_m);
  show("softmax, m", softmax_m);
  show("any", any_0);
  show("all", all_m);
  show("logaddexp", sums);

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
