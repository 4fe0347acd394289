// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A loss of the hardest quarter of a batch: the adjoint is of these rows alone, whichever they are.
#include "space.hpp"

#include <cstdint>
#include <tuple>

namespace {

constexpr int rows = 512, classes = 3;
struct params {
  tl::tensor<float, 2, 48> w1;
  tl::tensor<float, 48> b1;
  tl::tensor<float, 48, classes> w2;
  tl::tensor<float, classes> b2;
};
using points = tl::tensor<float, tl::dyn<'n'>, 2>;
using labels = tl::tensor<std::int32_t, tl::dyn<'n'>>;

constexpr auto losses_of = [](auto p, auto x, auto y) {
  return tl::softmax_cross_entropy(tl::matmul(tl::relu(tl::matmul(x, p.w1) + p.b1), p.w2) + p.b2, y); // (n)
};
constexpr auto hardest = [](auto p, auto x, auto y) {
  const auto losses = losses_of(p, x, y);
  return tl::mean(tl::gather(losses, tl::top_k<tl::percent{25}, 'k'>(losses)));
};
constexpr auto train = tl::jit([](auto p, auto state, auto x, auto y) {
  const auto [value, gradient] = tl::value_and_grad<0>(hardest)(p, x, y);
  const auto [next, next_state] = tl::sgd_update(p, gradient, state, 0.05, tl::sgd_options{.momentum = 0.9});
  return std::tuple{value, next, next_state};
});

struct hardest_rows {
  template <class Space> static std::vector<loss> run() {
    constexpr tl::dim<'n'> n{rows};
    std::mt19937 random(1);
    tl::owned<params> w;
    fill(w->w1, random, 1);
    fill(w->b1, random, 1);
    fill(w->w2, random, 0.3f);
    tl::owned<points> in(n);
    tl::owned<labels> out(n);
    fill(*in, random, 1);
    for (int i = 0; i < rows; ++i) { // three rings
      const float r = std::hypot((*in)(i, 0), (*in)(i, 1));
      (*out)(i) = r < 0.5f ? 0 : r < 0.9f ? 1 : 2;
    }

    const auto p = Space::place(std::move(w));
    const auto x = Space::place(std::move(in));
    const auto y = Space::place(std::move(out));
    const auto state = Space::template zeros<tl::sgd_state<params>>();
    const auto value = Space::template zeros<tl::scalar<float>>();
    auto step = Space::template bind<params, tl::sgd_state<params>, points, labels>(train, n);
    std::vector<loss> losses;
    for (int k = 1; k <= 200; ++k) {
      step.into(std::tuple{*value, *p, *state})(*p, *state, *x, *y);
      if (k == 1 || k % 50 == 0) losses.push_back({k, Space::number(value)});
    }
    return losses;
  }
};

} // namespace

int main() { return show<hardest_rows>("cross entropy of the hardest quarter of a batch"); }
