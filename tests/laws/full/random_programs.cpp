// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// One block of 20 of the 1000 random programs of the full test: compiled once for each TAPELESS_BLOCK in 0 .. 49.
#include "../random_programs.hpp"

#ifndef TAPELESS_BLOCK
#define TAPELESS_BLOCK 0
#endif

TEST_CASE("the gradients of 20 further random programs equal finite differences") {
  laws::check_programs<100 + 20 * TAPELESS_BLOCK, 20, 10>();
}
