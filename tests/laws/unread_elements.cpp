// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Elements that conditions, slices and lists leave out, behind some ops.
#include "unread_elements.hpp"

using namespace unread_elements;

TEST_CASE("elements that conditions leave out pass nothing") {
  check_ops<some_ops, by_where>("where", {1, 4, 5});
  check_ops<some_ops, by_max>("max", {0, 1, 3, 4, 5});
  check_ops<some_ops, by_nested_where>("nested where", {0, 1, 3, 5});
  check_ops<some_ops, by_three_pieces>("three pieces", {0, 2, 3});
  check_ops<some_ops, by_matrix>("where in a matrix", {1, 3, 4, 5});
}
TEST_CASE("elements that slices leave out pass nothing") {
  check_ops<some_ops, by_slice>("slice", {0, 4, 5});
  check_ops<some_ops, by_slices>("slices", {4, 5});
  check_ops<some_ops, by_slice_and_where>("slice and where", {4, 5});
  check_ops<some_ops, by_concat>("concat", {3});
  check_ops<some_ops, by_concat_of_slices>("concat of slices", {2, 3, 4});
  check_ops<some_ops, by_pad>("pad", {0, 1, 5});
}
TEST_CASE("elements that lists leave out pass nothing") {
  check_ops<some_ops, by_list>("list", {1, 2, 4});
  check_ops<some_ops, by_list_and_slice>("list and slice", {2, 4});
  check_ops<some_ops, by_scatter>("scatter_add", {0, 4, 5});
  check_ops<some_ops, by_top>("top_k", {1, 4, 5});
}
