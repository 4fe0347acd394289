// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cstdio>

namespace tl = tapeless;

using vector = tl::tensor<double, 3>;

// f(x) = sum x_i e^(x_i)        f'(x) = e^x (1 + x)
constexpr auto f = [](auto x) { return tl::sum(x * exp(x)); };

int main() {
  auto step = tl::jit(tl::value_and_grad(f)); // nothing has run: step is a program
  auto run = step.bind<vector>();             // its memory: one allocation

  double data[] = {0, 1, 2};
  const auto [value, gradient] = run(vector(data)); // gradient is a vector
  std::printf("f  = %.6f\n", value[0]);
  for (const double g : gradient) std::printf("g  = %.6f\n", g);
}
