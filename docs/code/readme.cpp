// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>
#include <cstdio>
namespace tl = tapeless;

struct plane { // an ordinary aggregate is a parameter tree
  tl::tensor<float, 3> slope;
  tl::tensor<float> height;
};
using points = tl::tensor<const float, tl::dyn<'n'>, 3>; // n is known when the program runs
using values = tl::tensor<const float, tl::dyn<'n'>>;

constexpr auto loss = [](const auto& p, auto x, auto y) {
  return tl::mean(tl::square(tl::matmul(x, p.slope) + p.height - y));
};
constexpr auto step = tl::jit(tl::value_and_grad<0>(loss));
constexpr tl::cost cost = step.cost<plane, points, values>();
static_assert(cost.adjoint.flops <= 1.5 * cost.primal.flops); // for every n

int main() {
  const float x[] = {1, 0, 2, 0, 1, 1}, y[] = {3, -1};
  tl::owned<plane> p;                                                 // zeros
  auto run = step.bind<plane, points, values>(tl::dim<'n'>(64));      // one allocation, for n up to 64
  const auto [value, gradient] = run(*p, points(x, 2), values(y, 2)); // gradient is a plane
  std::printf("loss %g, gradient by height %g\n", value[0], gradient.height[0]); // loss 5, gradient by height -2
}
