// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Numbers as integers, defined for all of them.
#pragma once
#include <cstdint>

namespace tapeless::detail {

// x as a To: uint8, int32 or int64. A fraction is cut off. Beyond the range of To it is the nearer end; NaN is 0.
template <class To, class From> constexpr To saturated(From x) {
  constexpr std::int64_t top = sizeof(To) == 1   ? 0xff
                               : sizeof(To) == 4 ? 0x7fffffff
                                                 : 0x7fffffffffffffff,
                         low = sizeof(To) == 1 ? 0 : -top - 1;
  constexpr bool is_real = From(0.75) != From(0) && From(0.75) != From(1);
  if constexpr (is_real) {
    constexpr auto above = static_cast<From>(2.0 * static_cast<double>(top / 2 + 1)); // a power of two
    if (x != x) return 0;
    return x >= above ? static_cast<To>(top) : x <= From(low) ? static_cast<To>(low) : static_cast<To>(x);
  } else {
    const auto wide = static_cast<std::int64_t>(x);
    return static_cast<To>(wide > top ? top : wide < low ? low : wide);
  }
}

} // namespace tapeless::detail
