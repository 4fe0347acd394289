// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The samples of ops with a kernel of their own.
#include "unread_samples.hpp"

using namespace unread_samples;

TEST_CASE("unread: what no result reads passes nothing, behind samples of ops with a kernel of their own") {
  CHECK(findings<op::argmax, op::count_>() == "");
}
