// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The samples of elementwise ops of one operand.
#include "unread_samples.hpp"

using namespace unread_samples;

TEST_CASE("unread: what no result reads passes nothing, behind samples of functions of one number") {
  CHECK(findings<op::neg, op::add>() == "");
}
