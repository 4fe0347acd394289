// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "swept_programs.hpp"

#include <algorithm>
#include <cmath>

namespace tl = tapeless;

TEST_CASE("random programs over rows are the same with and without sweeps") {
  CHECK(laws::check_swept_programs<laws::rows_family, 1, 2, 4>() >= 2);
}
TEST_CASE("random programs over images are the same with and without batch tiles") {
  CHECK(laws::check_swept_programs<laws::images_family, 2, 2, 3>() >= 2);
}
TEST_CASE("random programs with a sparse matrix are the same with and without sweeps over its rows") {
  CHECK(laws::check_swept_programs<laws::sparse_family, 1, 2, 2>() >= 2);
}

TEST_CASE("a wrong element of the gradient, and a row that is left out, are noticed") {
  using family = laws::rows_family;
  using program = laws::swept_program<family, 1, 4>;
  auto run = family::bound(program{});
  auto plainly = family::bound(program{}, tl::plain);
  support::leaves swept, unswept, of_less;
  family::with_data(300, [&](const auto&... x) { swept = support::leaves_of(run(x...)); });
  family::with_data(300, [&](const auto&... x) { unswept = support::leaves_of(plainly(x...)); });
  family::with_data(299, [&](const auto&... x) { of_less = support::leaves_of(plainly(x...)); });
  CHECK(support::apart(unswept, swept) <= support::order_of_sums);
  CHECK(support::apart({of_less[0]}, {swept[0]}) > support::order_of_sums);
  CHECK(support::apart(of_less, swept) > support::order_of_sums);
  for (auto& leaf : swept) {
    double& largest = *std::max_element(leaf.begin(), leaf.end(),
                                        [](double x, double y) { return std::abs(x) < std::abs(y); });
    const double right = std::exchange(largest, largest + 1e-9 * std::fmax(std::abs(largest), 1.0));
    CHECK(support::apart(unswept, swept) > support::order_of_sums);
    largest = NAN;
    CHECK(support::apart(unswept, swept) > support::order_of_sums);
    largest = right;
  }
}
