// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Convolutions over one and three axes.
#include "conv_nd.hpp"

using namespace conv_nd_laws;

static_assert(covers(tl::detail::unfold_rules, volume_cases) &&
              counts(tl::detail::unfold_rules, volume_gradients));

TEST_CASE("conv1d: the laws hold") {
  check_laws(line_cases, no_names, anywhere);
  check_laws(named_line_cases, {0, 1, 2, 7}, anywhere);
}
TEST_CASE("conv3d: the laws hold") {
  check_laws(volume_cases, no_names, anywhere);
  check_laws(named_volume_cases, {0, 1, 3}, anywhere);
  check_flops(volume_gradients);
}
TEST_CASE("conv1d, conv3d: float equals the reference") {
  check_values(with<lines<float>>(line_cases), no_names, anywhere);
  check_values(with<volumes<float>>(volume_cases), no_names, anywhere);
}
