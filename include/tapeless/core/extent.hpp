// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// extent = coefficient * name * name        64, n, 9*n, n*m
//
// One 64-bit number, so that a static extent is the plain number in types and in error messages:
// bits 0..39 the coefficient, bits 40..47 and 48..55 up to two names in ascending order (0: none).
#pragma once
#include <array>
#include <cstdint>

namespace tapeless {

using extent_t = std::int64_t;

// An extent that is known only at call time has a name: tensor<float, dyn<'n'>, 64>.
template <char Name>
  requires((Name >= 'a' && Name <= 'z') || (Name >= 'A' && Name <= 'Z'))
inline constexpr extent_t dyn = extent_t{1} | (extent_t{Name} << 40);

// The value of a named extent at bind (there it is the capacity): dim<'n'>(64).
template <char Name> struct dim {
  static constexpr char name = Name;
  extent_t value;
  constexpr explicit dim(extent_t v) : value(v) {}
};

namespace detail {

inline constexpr int name_shift = 40;
inline constexpr extent_t coefficient_mask = (extent_t{1} << name_shift) - 1;

constexpr extent_t coefficient(extent_t e) { return e & coefficient_mask; }
constexpr extent_t names(extent_t e) { return e >> name_shift; }
constexpr char first_name(extent_t e) { return static_cast<char>(names(e) & 0xff); }
constexpr char second_name(extent_t e) { return static_cast<char>((names(e) >> 8) & 0xff); }
constexpr bool is_static(extent_t e) { return names(e) == 0; }
constexpr int degree(extent_t e) { return (first_name(e) != 0) + (second_name(e) != 0); }
// @pre a, b in ascending order, 0 for none; first is filled before second
constexpr extent_t monomial(extent_t c, char a, char b) {
  if (c == 0) return 0;
  return c | (extent_t{a} << name_shift) | (extent_t{b} << (name_shift + 8));
}

constexpr bool multipliable(extent_t x, extent_t y) { return degree(x) + degree(y) <= 2; }
// @pre multipliable(x, y)   @post eval(times(x, y)) == eval(x) * eval(y)
constexpr extent_t times(extent_t x, extent_t y) {
  if (names(x) == 0 && names(y) == 0) return x * y;
  char a = first_name(x), b = second_name(x);
  if (names(y) != 0) {
    if (a == 0) a = first_name(y), b = second_name(y);
    else b = first_name(y);
    if (b != 0 && b < a) {
      const char t = a;
      a = b;
      b = t;
    }
  }
  return monomial(coefficient(x) * coefficient(y), a, b);
}
// x / y as a monomial; -1 where it is none
constexpr extent_t divided(extent_t x, extent_t y) {
  if (x == y) return 1;
  if (y == 0 || coefficient(x) % coefficient(y) != 0) return -1;
  char a = first_name(x), b = second_name(x);
  for (const char k : {first_name(y), second_name(y)}) {
    if (k == 0) continue;
    if (k == b) b = 0;
    else if (k == a) a = b, b = 0;
    else return -1;
  }
  return monomial(coefficient(x) / coefficient(y), a, b);
}

inline constexpr int max_names = 4;

// Values of the named extents of one program, in order of first appearance.
struct name_values {
  std::array<char, max_names> name{};
  std::array<extent_t, max_names> value{};
  int count = 0;

  constexpr int find(char n) const {
    for (int i = 0; i < count; ++i)
      if (name[static_cast<std::size_t>(i)] == n) return i;
    return -1;
  }
  constexpr extent_t of(char n) const {
    for (int i = 0; i < count; ++i)
      if (name[static_cast<std::size_t>(i)] == n) return value[static_cast<std::size_t>(i)];
    return 1;
  }
  // @return the index of n, -1 where more than max_names names would be held
  constexpr int add(char n) {
    if (const int i = find(n); i >= 0) return i;
    if (count == max_names) return -1;
    name[static_cast<std::size_t>(count)] = n;
    return count++;
  }
};

constexpr extent_t eval(extent_t e, const name_values& v) {
  if (names(e) == 0) return e;
  const extent_t x = coefficient(e) * v.of(first_name(e));
  return second_name(e) == 0 ? x : x * v.of(second_name(e));
}

} // namespace detail
} // namespace tapeless
