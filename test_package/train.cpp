// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What a user of a package writes first: a small network learns a curve. Exit status 1 where it does not.
#include <tapeless/tapeless.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace tl = tapeless;

// curve(x) = tanh(x w1 + b1) w2, fitted to sin(3 x)
struct params {
  tl::tensor<float, 1, 8> w1;
  tl::tensor<float, 8> b1, w2;
};
using column = tl::tensor<const float, 64, 1>;
using values = tl::tensor<const float, 64>;

constexpr auto loss = [](const params& p, column x, values y) {
  return tl::mean(tl::square(tl::matmul(tanh(tl::matmul(x, p.w1) + p.b1), p.w2) - y));
};

int main() {
  std::array<float, 64> x, y;
  for (std::size_t i = 0; i < 64; ++i) {
    x[i] = static_cast<float>(i) / 32 - 1;
    y[i] = std::sin(3 * x[i]);
  }
  tl::owned<params> p;
  for (int i = 0; i < 8; ++i) {
    p->w1[i] = i % 2 == 0 ? 2.0f : -2.0f;
    p->b1[i] = 0.5f * static_cast<float>(i - 4);
  }
  auto step = tl::jit(tl::value_and_grad<0>(loss)).bind<params, column, values>();
  tl::adam<params> optimizer(tl::adam_options{.learning_rate = 1e-2});
  float first = 0, last = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto [value, gradient] = step(*p, column(x.data()), values(y.data()));
    optimizer.step(*p, gradient);
    last = value[0];
    if (i == 0) first = last;
  }
  std::printf("tapeless %d.%d.%d: loss %.3f, after 1000 steps %.5f\n", TAPELESS_VERSION_MAJOR,
              TAPELESS_VERSION_MINOR, TAPELESS_VERSION_PATCH, first, last);
  return last < 1e-3f ? 0 : 1;
}
