// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <cmath>

namespace tl = tapeless;

// [signature]
// logits: tensor<float, 2, 3>   label: tensor<std::int32_t, 2>
constexpr auto losses = [](auto logits, auto label) {
  auto a = tl::softmax(logits);                           // (2, 3): over the last axis; softmax<0> over the first
  auto b = tl::log_softmax(logits);                       // (2, 3)
  auto c = tl::softmax_cross_entropy(logits, label);      // (2): one loss for each row
  auto d = tl::mse_loss(logits, b);                       // (): mean of (logits - b)^2
  auto e = tl::softmax_cross_entropy<tl::ignore_label{0}>(logits, label); // (2): 0 where the label is 0
  return std::tuple{a, b, c, d, e};
};
// [/signature]
// [options]
// weights: tensor<float, 3>   p: tensor<float, 2, 3>, probabilities
constexpr auto options = [](auto logits, auto label, auto weights, auto p) {
  auto a = tl::softmax_cross_entropy(logits, label, tl::class_weights(weights));
  auto b = tl::softmax_cross_entropy(logits, label, tl::label_smoothing(0.1));
  auto c = tl::softmax_cross_entropy(logits, p);
  auto d = tl::sum(a) / tl::sum(tl::gather(weights, label)); // (): PyTorch's mean with weights
  return std::tuple{a, b, c, d};
};
// [/options]

int main() {
  using logits = tl::tensor<float, 2, 3>;
  using label = tl::tensor<std::int32_t, 2>;
  const float x[] = {0, 1, 2, 1000, 1000, -1000}; // exp(1000) overflows; the shifted sums do not
  const std::int32_t y[] = {2, 0};
  auto run = tl::jit(losses).bind<tl::tensor<const float, 2, 3>, tl::tensor<const std::int32_t, 2>>();
  const auto [a, b, c, d, e] = run(tl::tensor<const float, 2, 3>(x), tl::tensor<const std::int32_t, 2>(y));
  show("a", a);
  show("b", b);
  show("c", c);
  show("d", d);
  show("e", e);

  const float weights[] = {1, 2, 4}, likely[] = {0.5, 0.25, 0.25, 0.5, 0.5, 0};
  auto with_options = tl::jit(options).bind<tl::tensor<const float, 2, 3>, tl::tensor<const std::int32_t, 2>, tl::tensor<const float, 3>,
                                            tl::tensor<const float, 2, 3>>();
  const auto [weighted, smoothed, of_likely, mean] =
      with_options(tl::tensor<const float, 2, 3>(x), tl::tensor<const std::int32_t, 2>(y), tl::tensor<const float, 3>(weights),
                   tl::tensor<const float, 2, 3>(likely));
  show("weighted", weighted);
  show("smoothed", smoothed);
  show("of p", of_likely);
  show("mean", mean);

  auto gradient = tl::jit(tl::grad([](auto v, auto t) { return tl::sum(tl::softmax_cross_entropy(v, t)); })).bind<logits, label>();
  tl::owned<std::tuple<logits, label>> in;
  for (int i = 0; i < 6; ++i) std::get<0>(*in)[i] = x[i];
  for (int i = 0; i < 2; ++i) std::get<1>(*in)[i] = y[i];
  show("c's vjp", gradient(std::get<0>(*in), std::get<1>(*in)));
}
