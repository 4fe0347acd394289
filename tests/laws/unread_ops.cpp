// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Elements that two conditions leave out, behind every elementwise op.
#include "unread_elements.hpp"

using namespace unread_elements;

TEST_CASE("elements that conditions leave out pass nothing, whatever the op") {
  check_ops<all_ops, by_two_conditions>("two conditions", {1, 5});
}
