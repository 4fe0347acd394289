// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/optim/sgd.hpp>

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
      tl::owned<mixed> p, g;
      fill(*p, 1);
      std::vector<double> expected = flat(*p);
      std::vector<double> velocity(expected.size());
      tl::sgd<mixed> opt({.learning_rate = 0.02, .momentum = momentum, .weight_decay = decay});
      const int steps = 40;
      for (int t = 1; t <= steps; ++t) {
        fill(*g, static_cast<std::uint64_t>(100 * t));
        const double rate = t <= 20 ? 0.02 : 0.01;
        opt.set_learning_rate(rate);
        opt.step(*p, *g);
        const std::vector<double> slope = flat(*g);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          velocity[i] = momentum * velocity[i] + slope[i] + decay * expected[i];
          expected[i] -= rate * velocity[i];
        }
      }
      check_near(*p, expected, steps);
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
  using line = tl::tensor<double, tl::dyn<'n'>>;
  for (const double momentum : {0.0, 0.5})
    for (std::int64_t n = 1; n <= 20; ++n) {
      std::vector<double> p(32, 1), g(32, 1);
      tl::sgd<line> opt({.learning_rate = 0.5, .momentum = momentum}, tl::dim<'n'>(n));
      opt.step(line(p.data(), n), line(g.data(), n));
      for (std::size_t i = 0; i < p.size(); ++i) CHECK(p[i] == (i < static_cast<std::size_t>(n) ? 0.5 : 1));
    }
}

TEST_CASE("sgd: a leaf of another size or without data is refused before anything is written") {
  using line = tl::tensor<double, tl::dyn<'n'>>;
  std::vector<double> p(8, 1), g(8, 1);
  for (const double momentum : {0.0, 0.5}) {
    tl::sgd<line> opt({.learning_rate = 0.5, .momentum = momentum}, tl::dim<'n'>(8));
    CHECK_THROWS_WITH_AS(opt.step(line(p.data(), 8), line(g.data(), 7)),
                         "tapeless: sgd.step(p, gradient): the gradient has 7 elements in leaf 0, expected 8",
                         tl::argument_error);
    CHECK_THROWS_WITH_AS(opt.step(line(static_cast<double*>(nullptr), 8), line(g.data(), 8)),
                         "tapeless: sgd.step(p, gradient): p has a leaf without data (leaf 0)",
                         tl::argument_error);
    if (momentum > 0) CHECK_THROWS_AS(opt.step(line(p.data(), 7), line(g.data(), 7)), tl::argument_error);
  }
  CHECK(p == std::vector<double>(8, 1));
}

TEST_CASE("sgd: options out of their range are refused") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](tl::sgd_options options) {
    CHECK_THROWS_AS(tl::sgd<mixed>{options}, tl::argument_error);
  };
  for (const double rate : {-1.0, nan}) refused({.learning_rate = rate});
  for (const double momentum : {-0.1, 1.0, nan}) refused({.momentum = momentum});
  for (const double decay : {-0.1, nan, std::numeric_limits<double>::infinity()})
    refused({.weight_decay = decay});
}
