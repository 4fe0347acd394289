#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// CHECK(close(got, expected, absolute, relative)): |got - expected| <= absolute + relative |expected|
// everywhere; NaN equals NaN, an infinity equals itself. On failure doctest prints the largest errors and the
// first bad place.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <ranges>

namespace support {

struct comparison {
  std::size_t got_size = 0, expected_size = 0;
  std::size_t failures = 0;
  std::size_t first_failure = 0;
  double got = 0, expected = 0; // at the first failure
  double max_absolute = 0;      // over all elements that are finite in both
  double max_relative = 0;      // the same, / |expected| where that is not 0

  explicit operator bool() const { return got_size == expected_size && failures == 0; }

  friend std::ostream& operator<<(std::ostream& out, const comparison& c) {
    if (c.got_size != c.expected_size) return out << c.got_size << " elements, expected " << c.expected_size;
    out << c.failures << " of " << c.got_size << " elements differ, max absolute error " << c.max_absolute
        << ", max relative error " << c.max_relative;
    if (c.failures > 0)
      out << "; first at [" << c.first_failure << "]: " << c.got << ", expected " << c.expected;
    return out;
  }
};

template <std::ranges::contiguous_range Got, std::ranges::contiguous_range Expected>
comparison close(const Got& got, const Expected& expected, double absolute, double relative = 0) {
  comparison result;
  result.got_size = std::ranges::size(got);
  result.expected_size = std::ranges::size(expected);
  const std::size_t n = std::min(result.got_size, result.expected_size);
  for (std::size_t i = 0; i < n; ++i) {
    const double g = static_cast<double>(std::ranges::data(got)[i]);
    const double e = static_cast<double>(std::ranges::data(expected)[i]);
    const bool same = g == e || (std::isnan(g) && std::isnan(e));
    const double error = std::abs(g - e);
    const bool within = std::isfinite(error) && error <= absolute + relative * std::abs(e);
    if (!same && !within && result.failures++ == 0) {
      result.first_failure = i;
      result.got = g;
      result.expected = e;
    }
    if (std::isfinite(error)) {
      result.max_absolute = std::max(result.max_absolute, error);
      if (e != 0) result.max_relative = std::max(result.max_relative, error / std::abs(e));
    }
  }
  return result;
}

} // namespace support
