// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Pools in NHWC.
#include "nhwc.hpp"

using namespace nhwc_laws;

TEST_CASE("nhwc: the laws hold for pools") {
  check_laws(maxima, no_names, distinct);
  check_laws(means, no_names, anywhere);
}
TEST_CASE("nhwc: float equals the reference for pools") {
  check_values(with<pooled_arguments<float>>(maxima), no_names, anywhere);
  check_values(with<pooled_arguments<float>>(means), no_names, anywhere);
}
