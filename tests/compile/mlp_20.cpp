// budget: 15 s, 500 MB
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// 20 residual layers h + relu(h w_i + b_i) in a loop: loss and the gradient of all parameters.

#include <tapeless/tapeless.hpp>

#include <array>
#include <cstddef>

namespace tl = tapeless;

struct params {
  std::array<tl::tensor<float, 64, 64>, 20> w;
  std::array<tl::tensor<float, 64>, 20> b;
};
using rows = tl::tensor<float, 32, 64>;

float run() {
  auto step = tl::jit(tl::value_and_grad<0>([](const params& p, auto x) {
                for (std::size_t i = 0; i < p.w.size(); ++i) x = x + tl::relu(tl::matmul(x, p.w[i]) + p.b[i]);
                return tl::mean(tl::square(x));
              })).bind<params, rows>();
  tl::owned<params> p;
  tl::owned<rows> x;
  return std::get<0>(step(*p, *x))[0];
}
