// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Ops of int32 as numbers, defined for all operands: results wrap around modulo 2^32. Constants are folded with them; a device
// computes with them.
//   x / y towards 0, x % y with the sign of x, x == (x / y) * y + x % y: x / 0 = 0, x % 0 = x
//   x << y, x >> y: a y outside [0, 31] shifts every bit out. 0 is left, and of x >> y the sign: 0 or -1
#pragma once
#include <cstdint>
#include "op.hpp"

namespace tapeless::detail {

constexpr std::int32_t int_quotient(std::int32_t x, std::int32_t y) {
  if (y == 0) return 0;
  if (y == -1) return static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(x));
  return x / y;
}
constexpr std::int32_t int_modulo(std::int32_t x, std::int32_t y) { return y == 0 ? x : y == -1 ? 0 : x % y; }
constexpr std::int32_t shifted_left(std::int32_t x, std::int32_t y) {
  return y < 0 || y > 31 ? 0 : static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << y);
}
constexpr std::int32_t shifted_right(std::int32_t x, std::int32_t y) {
  return x >> (y < 0 || y > 31 ? 31 : y);
}

// op o of two, for the ops whose constants are folded
struct int_result {
  bool known;
  std::int32_t value;
};
constexpr int_result of_ints(op o, std::int32_t x, std::int32_t y) {
  const auto u = static_cast<std::uint32_t>(x), v = static_cast<std::uint32_t>(y);
  switch (o) {
    case op::add: return {true, static_cast<std::int32_t>(u + v)};
    case op::sub: return {true, static_cast<std::int32_t>(u - v)};
    case op::mul: return {true, static_cast<std::int32_t>(u * v)};
    case op::quotient: return {true, int_quotient(x, y)};
    case op::modulo: return {true, int_modulo(x, y)};
    case op::bit_and: return {true, x & y};
    case op::bit_or: return {true, x | y};
    case op::bit_xor: return {true, x ^ y};
    case op::shift_left: return {true, shifted_left(x, y)};
    case op::shift_right: return {true, shifted_right(x, y)};
    default: return {false, 0};
  }
}

} // namespace tapeless::detail
