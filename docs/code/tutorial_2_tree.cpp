// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <array>
#include <cstdio>

namespace tl = tapeless;

struct layer {
  tl::tensor<float, 4, 4> weight;
  tl::tensor<float, 4> bias;
};
struct params {
  std::array<layer, 3> hidden; // layers of one type: a loop
  tl::tensor<float, 4> output;
  tl::scalar<float> offset; // a number inside a tree
};
using input = tl::tensor<float, 2, 4>;

constexpr auto network = [](const params& p, input x) {
  auto h = x;
  for (const layer& l : p.hidden) h = tanh(tl::matmul(h, l.weight) + l.bias);
  return tl::matmul(h, p.output) + p.offset; // (2)
};
constexpr auto loss = [](const params& p, input x) { return tl::mean(tl::square(network(p, x))); };

int main() {
  tl::owned<params> p; // all parameters in one block, zeros
  for (layer l : p->hidden)
    for (int i = 0; i < 4; ++i) l.weight(i, i) = 1;
  for (float& w : p->output) w = 0.5f;

  tl::owned<input> x;
  for (int i = 0; i < x->size(); ++i) (*x)[i] = 0.1f * static_cast<float>(i);

  auto run = tl::jit(tl::value_and_grad<0>(loss)).bind<params, input>(); // by argument 0
  const auto [value, gradient] = run(*p, *x);
  std::printf("loss       %.4f\n", value[0]);
  std::printf("offset     %.4f\n", gradient.offset[0]); // the gradient is a params
  std::printf("bias of 1  %.4f\n", gradient.hidden[1].bias[0]);
}
