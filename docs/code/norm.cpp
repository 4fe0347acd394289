// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

namespace tl = tapeless;

// [signature]
// x: tensor<float, 2, 2, 3>   c: tensor<float, 2>   d: tensor<float, 3>
constexpr auto norms = [](auto x, auto c, auto d) {
  auto a = tl::batch_norm(x, c, c);                // (2, 2, 3): gamma = beta = c, over axes 0 and 2
  auto [mean, variance] = tl::batch_norm_stats(x); // (2), (2): of each channel
  auto e = tl::batch_norm(x, c, c, mean, variance); // (2, 2, 3): given statistics
  auto f = tl::instance_norm(x, c, c);             // (2, 2, 3): over axis 2
  auto g = tl::group_norm<1>(x, c, c);             // (2, 2, 3): one group, over axes 1 and 2
  auto h = tl::layer_norm(x, d, d);                // (2, 2, 3): over the last axis; layer_norm<2> over the last two
  auto i = tl::rms_norm(x, d);                     // (2, 2, 3): x over the root of the mean square
  auto j = tl::layer_norm(x, 1e-3);                // (2, 2, 3): eps is 1e-3; no gamma and beta
  return std::tuple{a, mean, variance, e, f, g, h, i, j};
};
// [/signature]

int main() {
  using X = tl::tensor<float, 2, 2, 3>;
  using C = tl::tensor<float, 2>;
  using D = tl::tensor<float, 3>;
  tl::owned<std::tuple<X, C, D>> in;
  count_up(*in);
  auto run = tl::jit(norms).bind<X, C, D>();
  const auto [a, mean, variance, e, f, g, h, i, j] = std::apply(run, *in);
  show("a", a);
  show("mean", mean);
  show("variance", variance);
  show("e", e);
  show("f", f);
  show("g", g);
  show("h", h);
  show("i", i);
  show("j", j);
}
