// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/optim/adam.hpp>
#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "trees.hpp"

using namespace trees;

TEST_CASE("adam: 40 steps are those of the formula, element by element") {
  std::vector<double> m(trees::size), v(trees::size);
  CHECK(steps_off(tl::adam<mixed>({.learning_rate = 0.5, .beta1 = 0.85, .beta2 = 0.95, .epsilon = 1e-6}),
                  [&](int t, double rate, std::size_t i, double slope, double& value) {
                    m[i] = 0.85 * m[i] + 0.15 * slope;
                    v[i] = 0.95 * v[i] + 0.05 * slope * slope;
                    const double m_hat = m[i] / (1 - std::pow(0.85, t)),
                                 v_hat = v[i] / (1 - std::pow(0.95, t));
                    value -= rate * m_hat / (std::sqrt(v_hat) + 1e-6);
                  }) <= steps);
}

TEST_CASE("adam: the first step moves each element by the learning rate against the sign of its gradient") {
  tl::owned<mixed> p, g;
  fill(*g, 3);
  tl::adam<mixed> opt(tl::adam_options{.learning_rate = 0.25, .epsilon = 1e-30});
  opt.step(*p, *g);
  std::vector<double> expected;
  for (const double slope : flat(*g)) expected.push_back(std::copysign(0.25, -slope));
  CHECK(roundings_off(*p, expected) <= 2);
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
  check_leaves_the_rest<float>(
      [](auto n) { return tl::adam<tl::tensor<float, tl::dyn<'n'>>>(tl::adam_options{}, n); });
}

TEST_CASE("adam: a leaf of another size or without data is refused before anything is written") {
  tl::adam<two_leaves> opt(tl::adam_options{}, tl::dim<'n'>(8));
  check_refusals(opt, "adam");
  tl::owned<two_leaves> p(tl::dim<'n'>(8)), g(tl::dim<'n'>(8)), shorter(tl::dim<'n'>(7));
  CHECK_THROWS_AS(opt.step(*shorter, *shorter), tl::argument_error); // the state has 8
  fill(*g, 5);
  opt.step(*p, *g); // and the refused steps did not count as steps
  std::vector<double> expected;
  for (const double slope : flat(*g)) expected.push_back(std::copysign(1e-3, -slope));
  CHECK(roundings_off(*p, expected) <= 2);
}

TEST_CASE("adam: options out of their range are refused") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](tl::adam_options options) { check_refused<tl::adam<mixed>>(options); };
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
