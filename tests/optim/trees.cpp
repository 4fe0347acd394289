// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "trees.hpp"

using namespace trees;

TEST_CASE("trees: an element that is off, a NaN and another number of elements are noticed, in each leaf") {
  tl::owned<mixed> p;
  fill(*p, 1);
  const std::vector<double> expected = flat(*p);
  CHECK(expected.size() == trees::size);
  CHECK(roundings_off(*p, expected) == 0);
  for (const std::size_t i : {std::size_t{0}, std::size_t{100}, expected.size() - 1}) {
    std::vector<double> wrong = expected;
    wrong[i] += 1e-5;
    CHECK(roundings_off(*p, wrong) > 50);
    wrong[i] = std::numeric_limits<double>::quiet_NaN();
    CHECK(roundings_off(*p, wrong) == std::numeric_limits<double>::infinity());
  }
  CHECK(roundings_off(*p, std::vector<double>(expected.begin(), expected.end() - 1)) ==
        std::numeric_limits<double>::infinity());
}

TEST_CASE("trees: steps of another formula are noticed") {
  // plain descent by hand, held against itself and against a rate that is off by a ten-thousandth
  struct descent {
    double rate = 0;
    void set_learning_rate(double r) { rate = r; }
    void step(const mixed& p, const mixed& g) {
      std::vector<double> slope = flat(g);
      std::size_t at = 0;
      tl::detail::for_each_leaf(p, [&](const auto& leaf) {
        using T = typename std::remove_cvref_t<decltype(leaf)>::value_type;
        for (T& x : leaf) x = static_cast<T>(static_cast<double>(x) - rate * slope[at++]);
      });
    }
  };
  const auto off = [](double factor) {
    return steps_off(descent{}, [=](int, double rate, std::size_t, double slope, double& value) {
      value -= factor * rate * slope;
    });
  };
  CHECK(off(1) <= steps);
  CHECK(off(1.0001) > 1000 * steps);
}
