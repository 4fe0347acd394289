// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Convolutions in NHWC.
#include "nhwc.hpp"

using namespace nhwc_laws;

TEST_CASE("nhwc: the laws hold for convolutions") { check_laws(wide, no_names, anywhere); }
TEST_CASE("nhwc: float equals the reference for convolutions") {
  check_values(with<wide_arguments<float>>(wide), no_names, anywhere);
}
