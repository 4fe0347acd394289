// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Selected rows that a run counts.
#include "selected_rows.hpp"

using namespace selected_rows;

static_assert(cost_of_selected<tokens, above_threshold>.densified == 0);

TEST_CASE_TEMPLATE("selected rows that a run counts", Net, perceptron, convolution, towers, tokens) {
  check_gradient<Net, easiest_of_percent>();
  check_gradient<Net, above_threshold>();
}
