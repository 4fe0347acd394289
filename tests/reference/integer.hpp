#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// z[i] = x[i] op y[i] of int32, in 64 bits and then modulo 2^32. x / 0 = 0, x % 0 = x; a shift by less than 0 or more than 31 shifts
// every bit out. One flop each.

#include "counted.hpp"
#include "elementwise.hpp"

#include <cstdint>

namespace ref {

using ints = array<std::int32_t>;

template <class F>
ints zip_ints(const ints& a, const ints& b, F f) {
  return zip<std::int32_t>(a, b, [f](std::int64_t x, std::int64_t y) {
    return counted::tally(static_cast<std::int32_t>(static_cast<std::uint32_t>(f(x, y))));
  });
}
inline bool shifts_all(std::int64_t y) { return y < 0 || y > 31; }

inline ints quotient(const ints& a, const ints& b) {
  return zip_ints(a, b, [](std::int64_t x, std::int64_t y) { return y == 0 ? 0 : x / y; });
}
inline ints modulo(const ints& a, const ints& b) {
  return zip_ints(a, b, [](std::int64_t x, std::int64_t y) { return y == 0 ? x : x % y; });
}
inline ints bit_and(const ints& a, const ints& b) {
  return zip_ints(a, b, [](std::int64_t x, std::int64_t y) { return x & y; });
}
inline ints bit_or(const ints& a, const ints& b) {
  return zip_ints(a, b, [](std::int64_t x, std::int64_t y) { return x | y; });
}
inline ints bit_xor(const ints& a, const ints& b) {
  return zip_ints(a, b, [](std::int64_t x, std::int64_t y) { return x ^ y; });
}
inline ints shift_left(const ints& a, const ints& b) {
  return zip_ints(a, b, [](std::int64_t x, std::int64_t y) {
    return shifts_all(y) ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << y);
  });
}
inline ints shift_right(const ints& a, const ints& b) {
  return zip_ints(a, b, [](std::int64_t x, std::int64_t y) { return x >> (shifts_all(y) ? 31 : y); });
}

} // namespace ref
