// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// One block of 8 random programs of each family, for the full test: compiled once for each TAPELESS_BLOCK.
#include "../swept_programs.hpp"

#ifndef TAPELESS_BLOCK
#define TAPELESS_BLOCK 0
#endif
inline constexpr std::uint64_t first = 100 + 8 * TAPELESS_BLOCK;

TEST_CASE("8 further random programs over rows are the same with and without sweeps") {
  CHECK(laws::check_swept_programs<laws::rows_family, first, 8, 5>() >= 16);
}
TEST_CASE("8 further random programs over images are the same with and without batch tiles") {
  CHECK(laws::check_swept_programs<laws::images_family, first, 8, 4>() >= 16);
}
TEST_CASE(
    "8 further random programs with a sparse matrix are the same with and without sweeps over its rows") {
  CHECK(laws::check_swept_programs<laws::sparse_family, first, 8, 3>() >= 16);
}
