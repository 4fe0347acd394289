// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
// The optimizers in the loop they are made for: with the gradients of a bound program.

#include <tapeless/optim/adam.hpp>
#include <tapeless/optim/sgd.hpp>
#include <tapeless/tapeless.hpp>

#include "support/allocations.hpp"
#include "trees.hpp"

namespace tl = tapeless;

namespace {

struct line {
  tl::tensor<double, 3> slope;
  tl::scalar<double> offset;
};
using points = tl::tensor<double, 20, 3>;
using values = tl::tensor<double, 20>;

constexpr auto loss = [](const line& p, points x, values y) {
  return tl::mse_loss(tl::matmul(x, p.slope) + p.offset, y);
};

// y = x . (2, -3, 0.5) + 0.25 is found again, without an allocation in a step.
template <class Optimizer> void check_fit(Optimizer& opt, int steps) {
  tl::owned<line> p;
  tl::owned<points> x;
  tl::owned<values> y;
  trees::fill(*x, 7);
  for (int i = 0; i < 20; ++i) (*y)[i] = 2 * (*x)(i, 0) - 3 * (*x)(i, 1) + 0.5 * (*x)(i, 2) + 0.25;
  auto run = tl::jit(tl::value_and_grad<0>(loss)).bind<line, points, values>();
  const double rate = opt.options().learning_rate;
  const auto train = [&] {
    for (int t = 0; t < steps; ++t) {
      opt.set_learning_rate(rate * (1 - static_cast<double>(t) / steps));
      const auto [value, gradient] = run(*p, *x, *y);
      opt.step(*p, gradient);
    }
  };
  CHECK(support::allocations_of(train) == 0);
  const std::vector<double> found = trees::flat(*p), expected{2, -3, 0.5, 0.25};
  for (std::size_t i = 0; i < 4; ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-6));
}

} // namespace

TEST_CASE("adam: fits a line, and its steps allocate nothing") {
  tl::adam<line> opt(tl::adam_options{.learning_rate = 0.1});
  check_fit(opt, 1000);
}

TEST_CASE("sgd: fits a line, and its steps allocate nothing") {
  tl::sgd<line> plain({.learning_rate = 0.4}), heavy({.learning_rate = 0.1, .momentum = 0.9});
  check_fit(plain, 1000);
  check_fit(heavy, 1000);
}

TEST_CASE("allocations are counted here") {
  if (support::counts_allocations) CHECK(support::allocations_of([] { tl::owned<line> p; }) > 0);
}
