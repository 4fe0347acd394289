// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The samples of elementwise ops of several operands.
#include "unread_samples.hpp"

using namespace unread_samples;

TEST_CASE(
    "unread: what no result reads passes nothing, behind samples of elementwise ops of several operands") {
  CHECK(findings<op::add, op::sum>() == "");
}
