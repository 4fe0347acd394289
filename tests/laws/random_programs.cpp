// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "random_programs.hpp"

TEST_CASE("6 random programs and their gradients equal the reference") { laws::check_programs<1, 6, 8>(); }

TEST_CASE("a wrong value, a gradient with one wrong element, and a step across a kink, are noticed") {
  using values = std::vector<double>;
  const auto cubes = [](const values& x) {
    laws::program_values r{0, {}};
    for (const double e : x) r.value += e * e * e, r.gradient.push_back(3 * e * e);
    return r;
  };
  const auto reference = [&](const values& x) { return cubes(x).value; };
  const auto wrong = [&](const values& x) {
    laws::program_values r = cubes(x);
    r.gradient[3] *= 1.0001;
    return r;
  };
  const auto consistently_wrong = [&](const values& x) { // as a count that is 1 in value and gradient
    laws::program_values r = cubes(x);
    r.value /= 3;
    for (double& e : r.gradient) e /= 3;
    return r;
  };
  const auto kinks = [&](const values& x) { // steeper on one side of where the program is looked at
    static const double here = x[3];
    return reference(x) + (x[3] > here ? 50 * (x[3] - here) : 0);
  };
  CHECK(laws::compare(1, 22, cubes, reference).equal());
  CHECK(laws::compare(1, 22, cubes, reference).says_something());
  CHECK_FALSE(laws::compare(1, 22, wrong, reference).equal());
  CHECK_FALSE(laws::compare(1, 22, consistently_wrong, reference).equal());
  CHECK_FALSE(
      (laws::compare(1, 22, cubes, kinks).equal() && laws::compare(1, 22, cubes, kinks).says_something()));
}
