// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// bf16: the upper half of a float, 8 bits of significand. A type for storage: two bytes an element.
//   bf16(x)    rounds to nearest even: |bf16(x) - x| <= 2^-8 |x| if 2^-126 <= |x| and the result is finite; NaN stays
//   NaN float(y)   exact
#pragma once
#include <cstdint>

namespace tapeless {

struct bf16 {
  std::uint16_t bits = 0;

  constexpr bf16() = default;
  constexpr explicit bf16(float x) {
    const auto u = __builtin_bit_cast(std::uint32_t, x); // std::bit_cast without its template
    const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<std::uint16_t>((nan ? u | 0x400000u : u + 0x7fffu + (u >> 16 & 1u)) >> 16);
  }
  constexpr explicit operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }
};
static_assert(sizeof(bf16) == 2);

} // namespace tapeless
