// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cstdio>

namespace tl = tapeless;

// [cost]
using images = tl::tensor<float, tl::dyn<'n'>, 16, 8, 8>; // 4096 n bytes
using channels = tl::tensor<float, 16>;
constexpr auto forward = [](auto x, auto gamma, auto beta) { return tl::batch_norm(x, gamma, beta); };
constexpr auto gradients = tl::vjp<0, 1, 2>(forward); // (x, gamma, beta, y_bar) -> x_bar, gamma_bar, beta_bar
// [/cost]


int main() {
  std::printf("forward\n%s", tl::jit(forward).explain<images, channels, channels>().c_str());
  std::printf("\ngradients\n%s", tl::jit(gradients).explain<images, channels, channels, images>().c_str());
}
