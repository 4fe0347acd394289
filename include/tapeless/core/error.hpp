// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// argument_error, refuse(...) that throws it, sizes that are checked for overflow, and usage_error.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <stdexcept>
#include "config.hpp" // IWYU pragma: keep
#include "shape.hpp"

namespace tapeless {

// Thrown by bind, run, owned, copy, the optimizers and the .npy functions: null data, extents that disagree or exceed
// the capacity, sizes that overflow, indices and numbers out of range, outputs that overlap. Nothing has been written
// when it is thrown.
struct argument_error : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// Thrown where two threads use one bound object at once; in checked builds (config.hpp) also where a result is read
// after its program has run again or is gone.
struct usage_error : std::logic_error {
  using std::logic_error::logic_error;
};

namespace detail {

[[noreturn, gnu::cold, gnu::noinline]] inline void misused(const char* message) {
  throw usage_error(message);
}

// throw argument_error(message), formatted as by printf: with std::string every program would compile its members too.
// Extents are %lld, by wide(n).
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] inline void refuse(const char* format,
                                                                                     ...) {
  char message[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  throw argument_error(message);
}
constexpr long long wide(extent_t n) { return n; }

// checked_...(a, b, who): throws where the result exceeds 63 bits.   @pre a, b >= 0
inline extent_t checked_result(bool overflow, extent_t r, const char* who) {
  if (overflow) refuse("tapeless: %s: the extents are too large: a size exceeds 63 bits", who);
  return r;
}
inline extent_t checked_product(extent_t a, extent_t b, const char* who) {
  extent_t r = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &r);
  return checked_result(overflow, r, who);
}
inline extent_t checked_sum(extent_t a, extent_t b, const char* who) {
  extent_t r = 0;
  const bool overflow = __builtin_add_overflow(a, b, &r);
  return checked_result(overflow, r, who);
}
// eval(e, v)
inline extent_t checked_eval(extent_t e, const name_values& v, const char* who) {
  if (is_static(e)) return e;
  extent_t x = coefficient(e);
  for (extent_t packed = names(e); packed != 0; packed >>= name_bits)
    x = checked_product(x, v.of(name_of(packed & 63)), who);
  return x;
}

} // namespace detail
} // namespace tapeless
