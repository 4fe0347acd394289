// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Convolutions forward and backward: two layers learn to draw the edges of pictures.
#include "space.hpp"

#include <tuple>

namespace {

constexpr int pictures = 8, side = 16;
struct params {
  tl::tensor<float, 8, 1, 3, 3> first;
  tl::tensor<float, 8> bias;
  tl::tensor<float, 1, 8, 3, 3> second;
};
using images = tl::tensor<float, pictures, 1, side, side>;

constexpr auto mean_error = [](auto p, auto x, auto y) {
  const auto h = tl::relu(tl::conv2d<tl::conv{.padding = 1}>(x, p.first, p.bias));
  return tl::mse_loss(tl::conv2d<tl::conv{.padding = 1}>(h, p.second), y);
};
// Gradient and update are one program: on the GPU one launch a step.
constexpr auto train = tl::jit([](auto p, auto state, auto x, auto y) {
  const auto [value, gradient] = tl::value_and_grad<0>(mean_error)(p, x, y);
  const auto [next, next_state] =
      tl::adam_update(p, gradient, state, tl::adam_options{.learning_rate = 1e-2});
  return std::tuple{value, next, next_state};
});

struct convolution {
  template <class Space> static std::vector<loss> run() {
    std::mt19937 random(1);
    tl::owned<params> w;
    fill(w->first, random, 0.3f);
    fill(w->second, random, 0.2f);
    tl::owned<images> pixels, edges;
    fill(*pixels, random, 1);
    for (int i = 0; i < pictures; ++i)
      for (int r = 0; r < side; ++r)
        for (int c = 0; c < side; ++c)
          (*edges)(i, 0, r, c) = c == 0 ? 0 : std::abs((*pixels)(i, 0, r, c) - (*pixels)(i, 0, r, c - 1));

    const auto p = Space::place(std::move(w));
    const auto x = Space::place(std::move(pixels)), y = Space::place(std::move(edges));
    const auto state = Space::template zeros<tl::adam_state<params>>();
    const auto value = Space::template zeros<tl::scalar<float>>();
    auto step = Space::template bind<params, tl::adam_state<params>, images, images>(train);
    std::vector<loss> losses;
    for (int k = 1; k <= 120; ++k) {
      step.into(std::tuple{*value, *p, *state})(*p, *state, *x, *y);
      if (k == 1 || k % 40 == 0) losses.push_back({k, Space::number(value)});
    }
    return losses;
  }
};

} // namespace

int main() { return show<convolution>("mean square error of the edges"); }
