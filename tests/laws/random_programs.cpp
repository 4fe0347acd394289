// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "random_programs.hpp"

TEST_CASE("the gradients of 16 random programs equal finite differences") {
  laws::check_programs<1, 16, 7>();
}

TEST_CASE("a gradient with one wrong element, and a step across a kink, are noticed") {
  using values = std::vector<double>;
  const auto cubes = [](const values& x) {
    laws::program_values r{0, {}};
    for (const double e : x) r.value += e * e * e, r.gradient.push_back(3 * e * e);
    return r;
  };
  constexpr auto wrong = [](const values& x) {
    laws::program_values r = decltype(cubes){}(x);
    r.gradient[3] *= 1.0001;
    return r;
  };
  constexpr auto kinks = [](const values& x) { // steeper on one side of where the program is looked at
    static const double here = x[3];
    laws::program_values r = decltype(cubes){}(x);
    r.value += x[3] > here ? 50 * (x[3] - here) : 0;
    return r;
  };
  CHECK(laws::compare(1, 22, cubes).equal());
  CHECK(laws::compare(1, 22, cubes).says_something());
  CHECK_FALSE(laws::compare(1, 22, wrong).equal());
  CHECK_FALSE((laws::compare(1, 22, kinks).equal() && laws::compare(1, 22, kinks).says_something()));
}
