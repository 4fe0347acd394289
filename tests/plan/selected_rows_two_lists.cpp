// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Selected rows of two lists.
#include "selected_rows.hpp"

using namespace selected_rows;

static_assert(cost_of_selected<tokens, hardest_and_easiest>.densified == 0);
static_assert(cost_of_selected<normalized, hardest_and_easiest>.densified == 0);
static_assert(cost_of_selected<table, hardest_and_easiest>.densified == 0);

TEST_CASE_TEMPLATE("selected rows of two lists", Net, normalized, convolution, table) {
  check_gradient<Net, hardest_and_easiest>();
}
