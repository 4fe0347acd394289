// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Selected rows behind layers that normalize, mix or reshape rows.
#include "selected_rows.hpp"

using namespace selected_rows;

static_assert(adjoint_is_sparse<normalized>);
static_assert(adjoint_is_sparse<attention>);
static_assert(cost_of_selected<batch_statistics, hardest>.densified > 0);

TEST_CASE_TEMPLATE("selected rows behind what normalizes, mixes or reshapes: gradients and Hessians", Net,
                   normalized, attention, six_axes, batch_statistics) {
  check_gradient<Net, hardest>();
  check_hessian<Net>();
}
