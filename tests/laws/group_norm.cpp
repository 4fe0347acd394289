// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Normalisation of groups of channels, and by given statistics.
#include "norm.hpp"

using namespace norm_laws;

TEST_CASE("batch_norm of given statistics, instance_norm: the laws hold") {
  check_laws(row_cases<channels<double, 2, 9>>, {0, 1, 2, 3, 11}, with_statistics);
}
TEST_CASE("group_norm: the laws hold") {
  check_laws(group_cases<channels<double, 6, 1, 5>>, {0, 1, 2, 7}, with_statistics);
}
TEST_CASE(
    "batch_norm of given statistics, group_norm: float equals the reference, also where a sum is cut into chunks") {
  check_values(row_cases<channels<float, 3, 1, 7>>, {0, 1, 3000}, with_statistics);
  check_values(group_cases<channels<float, 6, 3>>, {0, 1, 3000}, with_statistics);
}
