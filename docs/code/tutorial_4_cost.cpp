// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cstdio>

namespace tl = tapeless;

struct params {
  tl::tensor<float, 8, 16> w1;
  tl::tensor<float, 16> b1, w2;
};
using rows = tl::tensor<const float, tl::dyn<'n'>, 8>;
using targets = tl::tensor<const float, tl::dyn<'n'>>;

constexpr auto loss = [](const params& p, rows x, targets y) {
  const auto h = tanh(tl::matmul(x, p.w1) + p.b1); // (n, 16)
  return tl::mse_loss(tl::matmul(h, p.w2), y);
};
constexpr auto step = tl::jit(tl::value_and_grad<0>(loss));

// The cost is a constant: the compiler refuses a program that becomes dearer than this.
constexpr tl::cost cost = step.cost<params, rows, targets>();
static_assert(cost.adjoint.flops <= 2.1 * cost.primal.flops); // for every n >= 1
static_assert(cost.steps() <= 10);

int main() {
  const auto at = [](const tl::polynomial& p) { return p.at(tl::dim<'n'>(64)); };
  std::printf("n = 64: primal %.0f flops, adjoint %.0f flops, arena %.0f bytes\n\n", at(cost.primal.flops),
              at(cost.adjoint.flops), at(cost.arena));
  std::fputs(step.explain<params, rows, targets>().c_str(), stdout);
}
