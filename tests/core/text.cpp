// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <tapeless/core/text.hpp>

using tapeless::detail::joined;

TEST_CASE("joined takes strings and characters") {
  CHECK(joined() == "");
  CHECK(joined("", std::string(), "") == "");
  CHECK(joined("extent ", 'n', std::string(" of x")) == "extent n of x");
}

TEST_CASE("joined takes integers to their ends") {
  CHECK(joined(0, ' ', 7U, ' ', -10) == "0 7 -10");
  CHECK(joined(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(joined(std::numeric_limits<std::int64_t>::max()) == "9223372036854775807");
  CHECK(joined(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
}
