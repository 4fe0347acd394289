// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The samples of index ops and scans: ops with a kernel of their own, but products.
#include "unread_samples.hpp"

using namespace unread_samples;

TEST_CASE("unread: what no result reads passes nothing, behind samples of index ops and scans") {
  CHECK(findings<op::argmax, op::matmul>() == "");
}
