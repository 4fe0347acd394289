// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Transposed convolutions over one to three axes.
#include "conv_nd.hpp"

using namespace conv_nd_laws;

TEST_CASE("conv_transpose1d: the laws hold") {
  check_laws(transposed_line_cases, no_names, anywhere);
  check_laws(named_transposed_line_cases, {0, 1, 2, 7}, anywhere);
}
TEST_CASE("conv_transpose2d: the laws hold") {
  check_laws(transposed_cases, no_names, anywhere);
  check_laws(named_transposed_cases, {0, 1, 3}, anywhere);
}
TEST_CASE("conv_transpose3d: the laws hold") {
  check_laws(transposed_volume_cases, no_names, anywhere);
  check_laws(named_transposed_volume_cases, {0, 1, 3}, anywhere);
}
TEST_CASE("conv_transpose1d, conv_transpose2d, conv_transpose3d: float equals the reference") {
  check_values(with<transposes<float>>(transposed_cases), no_names, anywhere);
  check_values(with<transposed_lines<float>>(transposed_line_cases), no_names, anywhere);
  check_values(with<transposed_volumes<float>>(transposed_volume_cases), no_names, anywhere);
}
