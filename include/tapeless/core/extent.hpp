// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// extent = coefficient * product of at most four names        64, n, 9*n, n*m
//
// One 64-bit number, so that a static extent is the plain number in types and in error messages:
// bits 0..38 the coefficient, then four fields of 6 bits for the names in ascending order, 0 for none.
#pragma once
#include <array>
#include <cstdint>

namespace tapeless {

using extent_t = std::int64_t;

namespace detail {

inline constexpr int name_shift = 39, name_bits = 6;
inline constexpr int max_names = 4; // of an extent, and of the arguments of a program
// Names of a program: those of its arguments, and those of data-dependent rows, which a run counts.
inline constexpr int max_counted_names = 8; // of selections
inline constexpr int max_program_names = max_names + max_counted_names;
inline constexpr extent_t coefficient_mask = (extent_t{1} << name_shift) - 1;

// 1 for A to 52 for z; then generated names, for selections that the compiler makes
inline constexpr char unwritten_names[] = "#$%&@?!~^|=";
inline constexpr extent_t first_generated = 53;
constexpr extent_t name_code(char n) { return n < 'a' ? n - 'A' + 1 : n - 'a' + 27; }
constexpr char name_of(extent_t code) {
  return static_cast<char>(code == 0                ? 0
                           : code < 27              ? 'A' + code - 1
                           : code < first_generated ? 'a' + code - 27
                                                    : unwritten_names[code - first_generated]);
}
constexpr extent_t unwritten_extent(int k) { return extent_t{1} | ((first_generated + k) << name_shift); }

} // namespace detail

// An extent that is known only at call time has a name: tensor<float, dyn<'n'>, 64>.
template <char Name>
  requires((Name >= 'a' && Name <= 'z') || (Name >= 'A' && Name <= 'Z'))
inline constexpr extent_t dyn = extent_t{1} | (detail::name_code(Name) << detail::name_shift);

// The value of a named extent at bind (there it is the capacity): dim<'n'>(64).
template <char Name> struct dim {
  static constexpr char name = Name;
  extent_t value;
  constexpr explicit dim(extent_t v) : value(v) {}
};

namespace detail {

constexpr extent_t coefficient(extent_t e) { return e & coefficient_mask; }
constexpr extent_t names(extent_t e) { return e >> name_shift; }
constexpr bool is_static(extent_t e) { return names(e) == 0; }
// Does e have the name of a selection that the compiler makes?
constexpr bool has_generated_name(extent_t e) {
  for (extent_t packed = names(e); packed != 0; packed >>= name_bits)
    if ((packed & 63) >= first_generated) return true;
  return false;
}
// Packed names without a coefficient have room for ten: the flops of a matmul have one name more than its result.
inline constexpr int max_degree = 10;
// Is the one name of `counted` a name of e?
constexpr bool has_name_of(extent_t e, extent_t counted) {
  for (extent_t packed = names(e); packed != 0; packed >>= name_bits)
    if ((packed & 63) == names(counted)) return true;
  return false;
}
// Names as a set: bit c for the name of code c.
constexpr std::uint64_t set_of_packed(extent_t packed) {
  std::uint64_t r = 0;
  for (; packed != 0; packed >>= name_bits) r |= std::uint64_t{1} << (packed & 63);
  return r;
}
constexpr std::uint64_t set_of_names(extent_t e) { return set_of_packed(names(e)); }
constexpr int degree_of(extent_t packed) {
  int n = 0;
  for (; packed > 0; packed >>= name_bits) ++n;
  return n;
}
constexpr int degree(extent_t e) { return degree_of(names(e)); }

// the names of both, in order   @pre degree_of(x) + degree_of(y) <= max_degree
constexpr extent_t names_product(extent_t x, extent_t y) {
  if (x == 0 || y == 0) return x | y;
  extent_t r = 0;
  for (int at = 0; (x | y) != 0; at += name_bits) {
    const extent_t a = x & 63, b = y & 63;
    const bool from_x = b == 0 || (a != 0 && a <= b);
    r |= (from_x ? a : b) << at;
    (from_x ? x : y) >>= name_bits;
  }
  return r;
}
constexpr bool multipliable(extent_t x, extent_t y) { return degree(x) + degree(y) <= max_names; }
// @pre multipliable(x, y), and the product of the coefficients has 39 bits
// @post eval(times(x, y)) == eval(x) * eval(y)
constexpr extent_t times(extent_t x, extent_t y) {
  if (is_static(x) && is_static(y)) return x * y;
  const extent_t c = coefficient(x) * coefficient(y);
  return c == 0 ? 0 : c | (names_product(names(x), names(y)) << name_shift);
}

// Every name has a value. Should one have none in constant evaluation, this call is the compile error: it is not
// constexpr.
[[noreturn]] inline void name_without_value(const char*) { __builtin_trap(); }

// Values of the named extents of one program, in order of first appearance.
struct name_values {
  std::array<char, max_program_names> name{};
  std::array<extent_t, max_program_names> value{};
  int count = 0;

  constexpr int find(char n) const {
    for (int i = 0; i < count; ++i)
      if (name[static_cast<std::size_t>(i)] == n) return i;
    return -1;
  }
  // @pre find(n) >= 0
  constexpr extent_t of(char n) const {
    const int i = find(n);
    if (i < 0) name_without_value("tapeless: a named extent has a value where it is read");
    return value[static_cast<std::size_t>(i)];
  }
  // @return the index of n, -1 if there were more than max_program_names names
  constexpr int add(char n) {
    if (const int i = find(n); i >= 0) return i;
    if (count == max_program_names) return -1;
    name[static_cast<std::size_t>(count)] = n;
    return count++;
  }
};

constexpr extent_t eval(extent_t e, const name_values& v) {
  if (names(e) == 0) return e;
  extent_t x = coefficient(e);
  for (extent_t packed = names(e); packed > 0; packed >>= name_bits) x *= v.of(name_of(packed & 63));
  return x;
}

// Is e a number, or a number times at most four names in order? What 24 * dyn<'b'> computes seldom is.
constexpr bool is_extent(extent_t e) {
  if (e < 0 || (coefficient(e) == 0) != (e == 0)) return false;
  extent_t before = 1;
  for (extent_t packed = names(e); packed != 0; packed >>= name_bits) {
    if ((packed & 63) < before) return false;
    before = packed & 63;
  }
  return true;
}
// -1: not an extent
template <extent_t... E> constexpr extent_t product_of_extents() {
  extent_t r = 1;
  for (const extent_t e : {extent_t{1}, E...}) {
    if (!is_extent(e) || !multipliable(r, e)) return -1;
    if (coefficient(e) != 0 && coefficient(r) > coefficient_mask / coefficient(e)) return -1;
    r = times(r, e);
  }
  return r;
}
template <extent_t... E>
concept have_a_product = product_of_extents<E...>() >= 0;
template <extent_t... E> consteval extent_t product_of() {
  static_assert(
      have_a_product<E...>,
      "tapeless: extent_product<a, b, ...>: of numbers and names, at most four names and a number of at "
      "most 39 bits");
  return product_of_extents<E...>();
}

} // namespace detail

// The product a b .. of numbers and names: reshape<extent_product<24, dyn<'b'>>, 8>(a) has 24 b rows. (24 * dyn<'b'> is
// no extent.)
// Errors: a compile error where there is no such extent.
template <extent_t... E> inline constexpr extent_t extent_product = detail::product_of<E...>();

} // namespace tapeless
