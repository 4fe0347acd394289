// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// One block of 16 random programs of the full test: compiled once for each TAPELESS_BLOCK.
#include "../random_programs.hpp"

#ifndef TAPELESS_BLOCK
#define TAPELESS_BLOCK 0
#endif

TEST_CASE("16 further random programs and their gradients equal the reference") {
  laws::check_programs<100 + 16 * TAPELESS_BLOCK, 16, 10>();
}
