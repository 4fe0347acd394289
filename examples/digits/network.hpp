#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The network: two convolutions, a pool, two dense layers. Shapes stand at the end of each line; n images are
// read at once, and n is known only when the program runs.

#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstdint>
#include <tuple>

#include "data.hpp"

namespace digits {

namespace tl = tapeless;

using images = tl::tensor<const float, tl::dyn<'n'>, 1, 8, 8>;
using labels = tl::tensor<const std::int32_t, tl::dyn<'n'>>;

template <int In, int Out> struct conv_layer {
  tl::tensor<float, Out, In, 3, 3> weight;
  tl::tensor<float, Out> bias;
};
template <int In, int Out> struct dense_layer {
  tl::tensor<float, In, Out> weight;
  tl::tensor<float, Out> bias;
};
struct params {
  conv_layer<1, 16> edges;
  conv_layer<16, 32> strokes;
  dense_layer<128, 64> hidden;
  dense_layer<64, classes> output;
};

inline constexpr auto network = [](const params& p, auto x) {                         // (n, 1, 8, 8)
  const auto a = tl::conv2d<tl::conv{.padding = 1}>(x, p.edges.weight, p.edges.bias); // (n, 16, 8, 8)
  const auto b = tl::conv2d<tl::conv{.stride = 2, .padding = 1}>(tl::relu(a), p.strokes.weight,
                                                                 p.strokes.bias); // (n, 32, 4, 4)
  const auto c = tl::flatten(tl::max_pool2d<tl::pool{.kernel = 2}>(tl::relu(b))); // (n, 128)
  const auto d = tl::matmul(c, p.hidden.weight) + p.hidden.bias;                  // (n, 64)
  return tl::matmul(tl::relu(d), p.output.weight) + p.output.bias;                // (n, 10)
};

// The mean loss, and how many images are read right. Only the first is differentiated.
inline constexpr auto training_loss = [](const params& p, auto x, auto y) {
  const auto logits = network(p, x);
  const auto right = tl::argmax<1>(logits) == y;
  return std::tuple{tl::mean(tl::softmax_cross_entropy(logits, y)), tl::sum(tl::cast<float>(right))};
};

inline constexpr auto predict = [](const params& p, auto x) { return tl::argmax<1>(network(p, x)); };

// Uniform within +-sqrt(6 / fan_in), which keeps the variance of what passes a relu (He et al., "Delving deep into
// rectifiers", ICCV 2015); biases 0.
inline void initialize(const params& p, std::uint64_t seed) {
  generator random(seed);
  const auto fill = [&](auto layer, double fan_in) {
    const float limit = static_cast<float>(std::sqrt(6 / fan_in));
    for (float& w : layer.weight) w = random.uniform(-limit, limit);
    for (float& b : layer.bias) b = 0;
  };
  fill(p.edges, 9 * 1);
  fill(p.strokes, 9 * 16);
  fill(p.hidden, 128);
  fill(p.output, 64);
}

} // namespace digits
