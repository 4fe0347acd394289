// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// conv2d: strides, paddings, dilations, the flops of its transposes.
#include "conv.hpp"

using namespace conv_laws;

static_assert(covers(tl::detail::conv_rules, strides) && counts(tl::detail::conv_rules, transposes));
static_assert(!counts(tl::detail::conv_rules, strides)); // there, two of them stand in derivatives only

TEST_CASE("conv2d: the laws hold for strides and paddings") { check_laws(strides, no_names, anywhere); }
TEST_CASE("conv2d: the laws hold for dilations and kernels") { check_laws(dilations, no_names, anywhere); }
TEST_CASE("conv2d: the flops of dgrad and wgrad are those of the reference") {
  check_flops(transposes);
  check_flops(grouped_transposes);
  check_flops(named_transposes, {0, 1, 7});
}
