// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Sparse matrices beside dense ones.
#include "sparse_rows.hpp"

using namespace sparse_laws;

TEST_CASE("sparse: the laws of products with matrices hold") {
  check_laws(dense, no_names, anywhere, full_row);
  check_laws(dense, no_names, anywhere, empty_column);
}
TEST_CASE("sparse: the laws of ops with a dense matrix of its extents hold") {
  check_laws(by_entries, no_names, quotients, full_row);
  check_laws(by_entries, no_names, quotients, empty_column);
  check_laws(by_entries_in_tiles, no_names, quotients, in_a_tile{full_row});
}
TEST_CASE("sparse: float equals the reference beside dense matrices") {
  check_values(with<dense_arguments<float, 5, 7, 11>, pattern_constant<float, 5, 7, 11>>(by_entries),
               no_names, quotients, full_row);
  check_values(with<matrix_arguments<float, 5, 7, 11>, pattern_constant<float, 5, 7, 11>>(dense), no_names,
               anywhere, full_row);
}
