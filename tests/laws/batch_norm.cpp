// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// batch_norm of a batch's statistics.
#include "norm.hpp"

using namespace norm_laws;

TEST_CASE("batch_norm: the laws hold") {
  check_laws(batch_cases<channels<double, 5>>, {1, 2, 3, 7, 8, 17}, with_statistics);
  check_laws(batch_cases<channels<double, 3, 1, 7>>, {1, 2, 3, 11}, with_statistics);
}
TEST_CASE("batch_norm: float equals the reference, also where a sum is cut into chunks") {
  check_values(batch_cases<channels<float, 3, 1, 7>>, {2, 3000}, with_statistics);
}
