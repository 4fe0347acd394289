// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/optim/sgd.hpp>
#include <tapeless/tapeless.hpp>

#include <cstddef>
#include <limits>
#include <vector>

#include "trees.hpp"

using namespace trees;

TEST_CASE("sgd: 40 steps are those of the formula, element by element, with and without momentum and decay") {
  for (const double momentum : {0.0, 0.9})
    for (const double decay : {0.0, 0.1}) {
      CAPTURE(momentum);
      CAPTURE(decay);
      std::vector<double> velocity(trees::size);
      CHECK(steps_off(tl::sgd<mixed>({.learning_rate = 0.5, .momentum = momentum, .weight_decay = decay}),
                      [&](int, double rate, std::size_t i, double slope, double& value) {
                        velocity[i] = momentum * velocity[i] + slope + decay * value;
                        value -= rate * velocity[i];
                      }) <= steps);
    }
}

TEST_CASE("sgd: a learning rate of zero moves nothing") {
  tl::owned<mixed> p, g;
  fill(*p, 2);
  fill(*g, 3);
  const std::vector<double> before = flat(*p);
  tl::sgd<mixed> opt({.learning_rate = 0, .momentum = 0.5, .weight_decay = 0.5});
  opt.step(*p, *g);
  CHECK(flat(*p) == before);
}

TEST_CASE("sgd: elements behind a leaf are left alone, for every number of lanes in the last group") {
  for (const double momentum : {0.0, 0.5})
    check_leaves_the_rest<double>([&](auto n) {
      return tl::sgd<tl::tensor<double, tl::dyn<'n'>>>({.learning_rate = 0.5, .momentum = momentum}, n);
    });
}

TEST_CASE("sgd: a leaf of another size or without data is refused before anything is written") {
  for (const double momentum : {0.0, 0.5}) {
    tl::sgd<two_leaves> opt({.learning_rate = 0.5, .momentum = momentum}, tl::dim<'n'>(8));
    check_refusals(opt, "sgd");
    tl::owned<two_leaves> shorter(tl::dim<'n'>(7));
    if (momentum > 0) CHECK_THROWS_AS(opt.step(*shorter, *shorter), tl::argument_error); // the state has 8
  }
}

TEST_CASE("sgd: options out of their range are refused") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](tl::sgd_options options) { check_refused<tl::sgd<mixed>>(options); };
  for (const double rate : {-1.0, nan}) refused({.learning_rate = rate});
  for (const double momentum : {-0.1, 1.0, nan}) refused({.momentum = momentum});
  for (const double decay : {-0.1, nan, std::numeric_limits<double>::infinity()})
    refused({.weight_decay = decay});
}
