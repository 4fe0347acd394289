// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Convolutions in NHWC: groups, batches of any size, minimal filtering.
#include "nhwc.hpp"

using namespace nhwc_laws;

TEST_CASE("nhwc: the laws hold for groups, batches of any size and minimal filtering") {
  check_laws(grouped, no_names, anywhere);
  check_laws(named, {0, 1, 3}, distinct);
  check_laws(filtered, no_names, anywhere);
}
TEST_CASE("nhwc: float equals the reference for groups, batches of any size and minimal filtering") {
  check_values(with<grouped_arguments<float>>(grouped), no_names, anywhere);
  check_values(with<named_arguments<float>>(named), {0, 1, 7, 17}, anywhere);
  check_values(with<filtered_arguments<float>>(filtered), no_names, anywhere);
}
