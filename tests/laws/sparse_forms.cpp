// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Tiled matrices, scaled ones, those of one entry and of none; float.
#include "sparse_rows.hpp"

using namespace sparse_laws;

TEST_CASE("sparse: the laws of tiled matrices hold") {
  check_laws(tiles, no_names, anywhere, in_a_tile{full_row});
  check_laws(tiles, no_names, anywhere, in_a_tile{empty_column});
  check_laws(tiles_by_dense, no_names, anywhere, in_a_tile{full_row});
}
TEST_CASE("sparse: the laws of products with scaled matrices hold") {
  check_laws(scalings, no_names, anywhere, full_row);
  check_laws(scalings, no_names, anywhere, empty_column);
}
TEST_CASE("sparse: the laws hold for one entry and for none") {
  check_laws(with<vector_arguments<double, 1, 1, 1>, pattern_constant<double, 1, 1, 1>>(products), no_names,
             anywhere, rows_of{{{0}}});
  check_laws(with<vector_arguments<double, 3, 4, 0>, pattern_constant<double, 3, 4, 0>>(products), no_names,
             anywhere, rows_of{{{}, {}, {}}});
  check_laws(with<dense_arguments<double, 1, 1, 1>, pattern_constant<double, 1, 1, 1>>(by_entries), no_names,
             quotients, rows_of{{{0}}});
  check_laws(with<dense_arguments<double, 3, 4, 0>, pattern_constant<double, 3, 4, 0>>(by_entries), no_names,
             quotients, rows_of{{{}, {}, {}}});
}
TEST_CASE("sparse: float equals the reference") {
  check_values(with<vector_arguments<float, 5, 7, 11>, pattern_constant<float, 5, 7, 11>>(products), no_names,
               anywhere, full_row);
  check_values(with<vector_arguments<float, 5, 7, 11>, pattern_constant<float, 5, 7, 11>>(entries), no_names,
               divisors, full_row);
}
