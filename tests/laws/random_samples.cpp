// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "random_samples.hpp"

#include <algorithm>

using namespace random_samples;

// What the table has is drawn. Ops that are never drawn: those whose samples are of other shapes.
static_assert(of_one.size() >= 30 && of_two.size() >= 7);
static_assert(std::find(of_one.begin(), of_one.end(), op::sin) != of_one.end());
static_assert(std::find(of_one.begin(), of_one.end(), op::cumsum) != of_one.end());
static_assert(std::find(of_one.begin(), of_one.end(), op::floor) == of_one.end()); // no derivative

TEST_CASE("random samples: programs of the ops in the rule table, against finite differences and tl::plain") {
  check_all<0>(std::make_integer_sequence<std::uint64_t, programs>{});
}
