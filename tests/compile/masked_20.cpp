// budget: 30 s, 700 MB
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// mlp_20 with a weight for the loss of each row: rows of weight 0 are left out of all products.

#include <tapeless/tapeless.hpp>

#include <array>
#include <cstddef>

namespace tl = tapeless;

struct params {
  std::array<tl::tensor<float, 64, 64>, 20> w;
  std::array<tl::tensor<float, 64>, 20> b;
};
using rows = tl::tensor<float, 32, 64>;
using weights = tl::tensor<float, 32>;

float run() {
  auto step = tl::jit(tl::value_and_grad<0>([](const params& p, auto x, auto weight) {
                for (std::size_t i = 0; i < p.w.size(); ++i) x = x + tl::relu(tl::matmul(x, p.w[i]) + p.b[i]);
                return tl::mean(weight * tl::mean<1>(tl::square(x)));
              })).bind<params, rows, weights>();
  tl::owned<params> p;
  tl::owned<rows> x;
  tl::owned<weights> weight;
  return std::get<0>(step(*p, *x, *weight))[0];
}
