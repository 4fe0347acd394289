// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Selected rows of tables.
#include "selected_rows.hpp"

using namespace selected_rows;

static_assert(adjoint_is_sparse<table>);
static_assert(adjoint_is_sparse<bags>);
static_assert(cost_of_selected<large_table, hardest>.densified == 0);

TEST_CASE_TEMPLATE("selected rows of tables: gradients and Hessians", Net, table, large_table, bags) {
  check_gradient<Net, hardest>();
  check_hessian<Net>();
}
