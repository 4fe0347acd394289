// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The samples of products, convolutions, pools and sparse ops.
#include "unread_samples.hpp"

using namespace unread_samples;

TEST_CASE("unread: what no result reads passes nothing, behind samples of products, convolutions and pools") {
  CHECK(findings<op::matmul, op::count_>() == "");
}
