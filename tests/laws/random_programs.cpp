// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "random_programs.hpp"

TEST_CASE("the gradients of 32 random programs equal finite differences") {
  laws::check_programs<1, 32, 7>();
}
