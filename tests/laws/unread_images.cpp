// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Images of convolutions that are cut off.
#include "unread_rows.hpp"

using namespace unread_rows;

TEST_CASE("images of convolutions that are cut off pass nothing") {
  check_rows<images, filters, conv2d, by_slice>("conv2d", {0, 3});
  check_rows<images, filters, conv2d, by_computed>("conv2d, computed", {1, 3});
  check_rows<images, filters, pooled, by_slice>("max_pool2d", {0, 3});
  check_rows<lines, line_filters, conv1d, by_slice>("conv1d", {0, 3});
  check_rows<volumes, volume_filters, conv3d, by_slice>("conv3d", {0, 3});
  check_rows<volumes, volume_filters, conv3d, by_computed>("conv3d, computed", {1, 3});
  check_rows<images, filters, transposed, by_list>("conv_transpose2d", {1, 3});
}
