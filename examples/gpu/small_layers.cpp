// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Small layers, one sample a step: the data stay where the program runs, and a number says which sample a step takes.
#include "space.hpp"

#include <cstdint>
#include <tuple>

namespace {

constexpr int inputs = 4, hidden = 32, samples = 256, each = 512;
struct params {
  tl::tensor<float, inputs, hidden> w1;
  tl::tensor<float, hidden> b1;
  tl::tensor<float, hidden, hidden> w2;
  tl::tensor<float, hidden> b2, w3;
};
using points = tl::tensor<float, samples, inputs>;
using values = tl::tensor<float, samples>;

constexpr auto network = [](auto p, auto x) {
  return tl::matmul(tanh(tl::matmul(tanh(tl::matmul(x, p.w1) + p.b1), p.w2) + p.b2), p.w3);
};
constexpr auto error = [](auto p, auto x, auto y) { return tl::mean(tl::square(network(p, x) - y)); };
// The next weights, and the sum of all errors so far. The learning rate is an argument, too.
constexpr auto train = tl::jit([](auto p, auto sum, auto x, auto y, auto sample, auto rate) {
  const auto [value, gradient] =
      tl::value_and_grad<0>(error)(p, tl::gather(x, sample), tl::gather(y, sample));
  return std::tuple{tl::sgd_update(p, gradient, rate), sum + value};
});

struct small_layers {
  template <class Space> static std::vector<loss> run() {
    std::mt19937 random(1);
    tl::owned<params> w;
    fill(w->w1, random, 0.7f);
    fill(w->w2, random, 0.3f);
    fill(w->w3, random, 0.3f);
    tl::owned<points> in;
    tl::owned<values> out;
    fill(*in, random, 1);
    for (int i = 0; i < samples; ++i) (*out)(i) = (*in)(i, 0) * (*in)(i, 1) - (*in)(i, 2);

    const auto p = Space::place(std::move(w));
    const auto x = Space::place(std::move(in));
    const auto y = Space::place(std::move(out));
    const auto sum = Space::template zeros<tl::scalar<float>>();
    auto step = Space::template bind<params, tl::scalar<float>, points, values, std::int32_t, float>(train);
    std::vector<loss> losses;
    double before = 0;
    for (int k = 1; k <= 4 * each; ++k) {
      step.into(std::tuple{*p, *sum})(*p, *sum, *x, *y, static_cast<std::int32_t>(random() % samples), 0.05f);
      if (k % each != 0) continue;
      const double now = Space::number(sum);
      losses.push_back({k, (now - std::exchange(before, now)) / each});
    }
    return losses;
  }
};

} // namespace

int main() { return show<small_layers>("mean square error of 512 samples, one after another"); }
