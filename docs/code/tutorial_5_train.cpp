// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/io/tree.hpp>
#include <tapeless/optim/adam.hpp>
#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace tl = tapeless;

// A curve y(x) = tanh(x w1 + b1) w2 + b2, fitted to y = sin(3 x).
struct params {
  tl::tensor<float, 1, 16> w1;
  tl::tensor<float, 16> b1;
  tl::tensor<float, 16, 1> w2;
  tl::tensor<float, 1> b2;
};
using column = tl::tensor<const float, tl::dyn<'n'>, 1>;

constexpr auto curve = [](const params& p, column x) {
  return tl::matmul(tanh(tl::matmul(x, p.w1) + p.b1), p.w2) + p.b2;
};
constexpr auto loss = [](const params& p, column x, column y) { return tl::mse_loss(curve(p, x), y); };

int main() {
  constexpr int n = 64;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) {
    x[i] = -1 + 2 * static_cast<float>(i) / (n - 1);
    y[i] = std::sin(3 * x[i]);
  }
  tl::owned<params> p;
  for (int i = 0; i < 16; ++i) {
    p->w1[i] = i % 2 == 0 ? 2.0f : -2.0f;
    p->b1[i] = 0.25f * static_cast<float>(i - 8);
  }

  auto step = tl::jit(tl::value_and_grad<0>(loss)).bind<params, column, column>(tl::dim<'n'>(n));
  tl::adam<params> optimizer(tl::adam_options{.learning_rate = 1e-2}); // one allocation: its two moments
  for (int i = 0; i <= 400; ++i) {
    const auto [value, gradient] = step(*p, column(x.data(), n), column(y.data(), n));
    if (i % 200 == 0) std::printf("step %4d: loss %.3f\n", i, value[0]);
    optimizer.step(*p, gradient); // writes the parameters in place
  }

  tl::save_npy("tutorial_params", *p); // 00.npy, 01.npy, ...: one file a leaf, in the order of declaration
  tl::owned<params> again;
  tl::load_npy("tutorial_params", *again);

  auto read = tl::jit(curve).bind<params, column>(tl::dim<'n'>(n));
  for (const float at : {-0.5f, 0.25f, 0.5f})
    std::printf("curve(%5.2f) = %5.2f, sin(3 x) = %5.2f\n", at, read(*again, column(&at, 1))[0], std::sin(3 * at));
}
