// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Masks of pixels and of matrices of rows, and where no row is left out.
#include "collapse_axes.hpp"

using namespace collapse_axes;

TEST_CASE_TEMPLATE("masks of axes: value, gradient, Hessian, threads, no allocation", Net, pixels,
                   matrix_of_rows) {
  check<Net>();
}

static_assert(
    !is_masked<of_convolution, real<1, 2, 3, 3>, real<batch, 2, 3, 4>, real<batch, 3, 4>, real<batch, 3, 4>>);
static_assert(!is_masked<activation, layers, real<24, 16>, real<24, 32>>);
static_assert(tl::jit(tl::value_and_grad<0>(of_convolution{}))
                      .cost<real<1, 2, 3, 3>, real<batch, 2, 3, 4>, real<batch, 3, 4>, real<batch, 3, 4>>()
                      .flops() +
                  batch * 3 * 4 ==
              tl::jit(tl::value_and_grad<0>(of_convolution_of_all{}))
                  .cost<real<1, 2, 3, 3>, real<batch, 2, 3, 4>, real<batch, 3, 4>, real<batch, 3, 4>>()
                  .flops());
