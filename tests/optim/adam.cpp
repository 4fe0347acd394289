// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/optim/adam.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "trees.hpp"

using namespace trees;

TEST_CASE("adam: 40 steps are those of the formula, element by element") {
  const tl::adam_options options{.learning_rate = 0.02, .beta1 = 0.85, .beta2 = 0.95, .epsilon = 1e-6};
  tl::owned<mixed> p, g;
  fill(*p, 1);
  std::vector<double> expected = flat(*p);
  std::vector<double> m(expected.size()), v(expected.size());
  tl::adam<mixed> opt(options);
  const int steps = 40;
  for (int t = 1; t <= steps; ++t) {
    fill(*g, static_cast<std::uint64_t>(100 * t));
    const double rate = t <= 20 ? 0.02 : 0.01;
    opt.set_learning_rate(rate);
    opt.step(*p, *g);
    const std::vector<double> slope = flat(*g);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      m[i] = 0.85 * m[i] + 0.15 * slope[i];
      v[i] = 0.95 * v[i] + 0.05 * slope[i] * slope[i];
      const double m_hat = m[i] / (1 - std::pow(0.85, t)), v_hat = v[i] / (1 - std::pow(0.95, t));
      expected[i] -= rate * m_hat / (std::sqrt(v_hat) + 1e-6);
    }
  }
  check_near(*p, expected, steps);
}

TEST_CASE("adam: the first step moves each element by the learning rate against the sign of its gradient") {
  tl::owned<mixed> p, g;
  fill(*g, 3);
  tl::adam<mixed> opt(tl::adam_options{.learning_rate = 0.25, .epsilon = 1e-30});
  opt.step(*p, *g);
  std::vector<double> expected;
  for (const double slope : flat(*g)) expected.push_back(std::copysign(0.25, -slope));
  check_near(*p, expected, 2);
}

TEST_CASE("adam: a gradient of zero moves nothing") {
  tl::owned<mixed> p, g;
  fill(*p, 4);
  const std::vector<double> before = flat(*p);
  tl::adam<mixed> opt(tl::adam_options{});
  for (int t = 0; t < 3; ++t) opt.step(*p, *g);
  CHECK(flat(*p) == before);
}

TEST_CASE("adam: elements behind a leaf are left alone, for every number of lanes in the last group") {
  using line = tl::tensor<float, tl::dyn<'n'>>;
  for (std::int64_t n = 0; n <= 40; ++n) {
    std::vector<float> p(64, 1), g(64, 1);
    tl::adam<line> opt(tl::adam_options{}, tl::dim<'n'>(n));
    opt.step(line(p.data(), n), tl::tensor<const float, tl::dyn<'n'>>(g.data(), n));
    for (std::size_t i = 0; i < p.size(); ++i) CHECK((p[i] == 1) == (i >= static_cast<std::size_t>(n)));
  }
}

TEST_CASE("adam: a leaf of another size or without data is refused before anything is written") {
  struct pair {
    tl::tensor<float, 4> fixed;
    tl::tensor<float, tl::dyn<'n'>> named;
  };
  tl::owned<pair> p(tl::dim<'n'>(8)), good(tl::dim<'n'>(8)), shorter(tl::dim<'n'>(7));
  fill(*good, 5);
  fill(*shorter, 6);
  tl::adam<pair> opt(tl::adam_options{}, tl::dim<'n'>(8));
  CHECK_THROWS_WITH_AS(opt.step(*p, *shorter),
                       "tapeless: adam.step(p, gradient): the gradient has 7 elements in leaf 1, expected 8",
                       tl::argument_error);
  CHECK_THROWS_AS(opt.step(*shorter, *shorter), tl::argument_error);
  CHECK_THROWS_WITH_AS(
      opt.step(*p, pair{good->fixed, tl::tensor<float, tl::dyn<'n'>>(static_cast<float*>(nullptr), 8)}),
      "tapeless: adam.step(p, gradient): the gradient has a leaf without data (leaf 1)", tl::argument_error);
  CHECK(flat(*p) == std::vector<double>(12));
  opt.step(*p, *good); // and the refused steps did not count as steps
  std::vector<double> expected;
  for (const double slope : flat(*good)) expected.push_back(std::copysign(1e-3, -slope));
  check_near(*p, expected, 2);
}

TEST_CASE("adam: options out of their range are refused") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](tl::adam_options options) {
    CHECK_THROWS_AS(tl::adam<mixed>{options}, tl::argument_error);
  };
  for (const double rate : {-1.0, nan, std::numeric_limits<double>::infinity()})
    refused({.learning_rate = rate});
  for (const double beta : {-0.1, 1.0, nan}) {
    refused({.beta1 = beta});
    refused({.beta2 = beta});
  }
  for (const double epsilon : {0.0, -1.0, nan}) refused({.epsilon = epsilon});
  tl::adam<mixed> opt(tl::adam_options{.learning_rate = 0.5});
  CHECK_THROWS_AS(opt.set_learning_rate(nan), tl::argument_error);
  CHECK(opt.options().learning_rate == 0.5);
}
