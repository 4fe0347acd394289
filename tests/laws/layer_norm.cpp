// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Normalisation of rows.
#include "norm.hpp"

using namespace norm_laws;

TEST_CASE("layer_norm, rms_norm: the laws hold") {
  check_laws(layer_cases<rows<double, 17>>, {0, 1, 2, 7, 9}, of_rows);
}
TEST_CASE("layer_norm, rms_norm: float equals the reference, also where a sum is cut into chunks") {
  check_values(layer_cases<rows<float, 7>>, {0, 1, 1000}, of_rows);
}
