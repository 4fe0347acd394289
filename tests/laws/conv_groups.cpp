// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// conv2d: groups, batches of any size, pointwise layers, minimal filtering; float.
#include "conv.hpp"

using namespace conv_laws;

TEST_CASE("conv2d: the laws hold for groups") { check_laws(groups, no_names, anywhere); }
TEST_CASE("conv2d: the laws hold for minimal filtering") {
  check_laws(filtered, no_names, anywhere);
  check_laws(larger_tiles, no_names, anywhere);
}
TEST_CASE("conv2d: the laws hold for a batch of any size") { check_laws(named, {0, 1, 2, 3, 7}, anywhere); }
TEST_CASE("conv2d: the laws hold for pointwise layers of one channel or one filter") {
  check_laws(pointwise, {0, 1, 2, 3, 7}, anywhere);
}
TEST_CASE("conv2d: float equals the reference") {
  check_values(with<wide_arguments<float>>(strides), no_names, anywhere);
  check_values(with<wide_arguments<float>>(dilations), no_names, anywhere);
}
TEST_CASE(
    "conv2d: float equals the reference for groups, batches of any size, pointwise layers and minimal filtering") {
  check_values(with<grouped_arguments<float>>(groups), no_names, anywhere);
  check_values(with<named_arguments<float>>(named), {0, 1, 7, 17}, anywhere);
  check_values(with<pointwise_arguments<float>>(pointwise), {0, 1, 7, 17}, anywhere);
  check_values(with<filtered_arguments<float>>(filtered), no_names, anywhere);
}
