// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows of products that slices cut off.
#include "unread_rows.hpp"

using namespace unread_rows;

TEST_CASE("rows of products that slices cut off pass nothing") {
  check_rows<X, W, network, by_slice>("slice", {0, 3});
  check_rows<X, W, network, by_slices>("slices", {1, 3});
  check_rows<X, W, network, by_concat>("concat", {2});
  check_rows<X, W, turned, by_slice>("transposed", {0, 3});
  check_rows<X, W, of_norm, by_slice>("vector", {0, 3});
  check_rows<matrices, W, batch, by_slice>("batch", {0, 3});
}
