// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What a user of the package writes: the gradient of a small function. Exit status 1 where it is wrong.
#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstdio>

namespace tl = tapeless;

int main() {
  constexpr auto f = [](auto x) { return tl::sum(tl::exp(x) * tl::square(x)); };
  using vector = tl::tensor<double, 5>;
  double data[] = {-1, -0.5, 0, 0.5, 1};
  auto run = tl::jit(tl::value_and_grad<0>(f)).bind<vector>();
  const auto [value, gradient] = run(vector(data));
  double error = 0;
  for (int i = 0; i < 5; ++i)
    error = std::fmax(error, std::fabs(gradient[i] - std::exp(data[i]) * data[i] * (data[i] + 2)));
  std::printf("tapeless %d.%d.%d: value %.4f, gradient wrong by %.1e\n", TAPELESS_VERSION_MAJOR,
              TAPELESS_VERSION_MINOR, TAPELESS_VERSION_PATCH, value[0], error);
  return error < 1e-12 ? 0 : 1;
}
