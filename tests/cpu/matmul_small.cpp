// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Small products in all four transposes; which products are small.
#include "matmul_small.hpp"

using namespace matmul_small_test;

TEST_CASE_TEMPLATE("matmul_small: equals the triple loop in all four transposes", T, TAPELESS_ELEMENTS) {
  check_forms<T, 1, 1, 1>();
  check_forms<T, 1, 4, 5>();
  check_forms<T, 1, 33, 18>();
  check_forms<T, 2, 3, 7>();
  check_forms<T, 3, 6, 1>();
  check_forms<T, 4, 4, 4>();
  check_forms<T, 7, 8, 9>();
}

TEST_CASE("matmul_small: what is known, not empty and stays in L1") {
  const auto is_small = [](index_t m, index_t n, index_t k, bool tb = false) {
    return small_product_of({.m = m, .n = n, .k = k, .tb = tb}, 4).m > 0;
  };
  CHECK(is_small(64, 64, 64));
  CHECK(is_small(64, 64, 64, true));
  CHECK_FALSE(is_small(65, 64, 64));
  CHECK_FALSE(is_small(1, 256, 256)); // b does not stay in L1
  CHECK_FALSE(is_small(8, 8, 0));
  CHECK_FALSE(is_small(0, 8, 8));
  CHECK_FALSE(is_small(8, 0, 8));
  CHECK_FALSE(is_small(tapeless::cpu::unknown_extent, 8, 8));
  CHECK(small_product_of({.batch = tapeless::cpu::unknown_extent, .m = 8, .n = 8, .k = 8}, 4).m > 0);
  CHECK(small_product_of({.batch = tapeless::cpu::unknown_extent, .m = 8, .n = 8, .k = 8, .b_batched = false},
                         4)
            .m == 0);
}
