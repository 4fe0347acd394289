// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The samples of sums, maxima and views.
#include "unread_samples.hpp"

using namespace unread_samples;

TEST_CASE("unread: what no result reads passes nothing, behind samples of sums, maxima and views") {
  CHECK(findings<op::sum, op::argmax>() == "");
}
