// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Small products of several blocks, of narrow results, of batches.
#include "matmul_small.hpp"

using namespace matmul_small_test;

TEST_CASE_TEMPLATE("matmul_small: equals the triple loop, of narrow results and columns, too", T,
                   TAPELESS_ELEMENTS) {
  check_forms<T, 13, 18, 34>();
  check_forms<T, 33, 2, 19>(); // a narrow result
  check_forms<T, 18, 3, 2>();
  check_forms<T, 29, 1, 20>(); // a column
}

TEST_CASE("matmul_small: blocks of several vectors, one of them not whole") {
  check_forms<float, 1, 70, 40>();
  check_forms<float, 30, 60, 20>();
  check_forms<double, 11, 37, 16>();
}

TEST_CASE("matmul_small: a batch may share either operand; many matrices are shared out") {
  check<float, extents{3, 5, 4, false, false, 7, true, true}>();
  check<float, extents{3, 5, 4, true, false, 7, true, false}>();
  check<float, extents{3, 5, 4, false, true, 7, true, false}>(); // the rows of one matrix
  check<double, extents{3, 5, 4, false, true, 7, false, true}>();
  check<float, extents{9, 1, 6, false, false, 5, true, true}>();
  check<float, extents{20, 3, 18, false, false, 4, true, true}>();
  check<float, extents{16, 16, 16, false, true, 150, true, true}>();
}
