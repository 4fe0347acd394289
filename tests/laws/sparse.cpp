// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Products with vectors, and ops entry by entry.
#include "sparse_rows.hpp"

using namespace sparse_laws;

static_assert(covers(sparse_rules, products, tiles) && counts(sparse_rules, products, tiles));
static_assert(covers(sparse_rules, dense, tiles_by_dense) && counts(sparse_rules, dense, tiles_by_dense));
static_assert(covers(tl::detail::sparse_dense_rules, by_entries)); // they have no flops to compare

TEST_CASE("sparse: the laws of products with vectors hold") {
  check_laws(products, no_names, anywhere, full_row);
  check_laws(products, no_names, anywhere, empty_column);
}
TEST_CASE("sparse: the laws of ops entry by entry hold") {
  check_laws(entries, no_names, divisors, full_row);
  check_laws(entries, no_names, divisors, empty_column);
}
