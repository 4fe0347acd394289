// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Selected images and volumes.
#include "selected_rows.hpp"

using namespace selected_rows;

static_assert(adjoint_is_sparse<convolution>);
static_assert(adjoint_is_sparse<volume>);

TEST_CASE_TEMPLATE("selected images and volumes: gradients and Hessians", Net, convolution, volume) {
  check_gradient<Net, hardest>();
  check_hessian<Net>();
}
