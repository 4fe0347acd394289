// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// row_axis: the axis of a tensor that has the rows of a list. The list names positions along one axis of extent n; a
// reshape may have made each of these rows a block of `block` neighbours.
#pragma once
#include "../core/shape.hpp"

namespace tapeless::detail {

// An axis of extent n * block, or none.
struct row_axis {
  int axis = -1;
  extent_t block = 1;
  constexpr bool found() const { return axis >= 0; }
  // not ==: the compiler would look at the == of all handles, too
  constexpr bool equals(const row_axis& o) const { return axis == o.axis && block == o.block; }
};

// The shape s with `count` rows along this axis.
constexpr shape with_rows(shape s, const row_axis& at, extent_t count) {
  s.d[at.axis] = times(count, at.block);
  return s;
}
// e / n if that is a static number, else 0.
constexpr extent_t quotient(extent_t e, extent_t n) {
  if (n == 0 || names(e) != names(n) || coefficient(e) % coefficient(n) != 0) return 0;
  return coefficient(e) / coefficient(n);
}
// The block of e = n * block, which may be named; 0 if e is no multiple of n.
constexpr extent_t block_of(extent_t e, extent_t n) {
  if (n == 0 || coefficient(e) % coefficient(n) != 0) return 0;
  extent_t others = 0, of_n = names(n);
  int at = 0;
  for (extent_t packed = names(e); packed != 0; packed >>= name_bits) { // in the same order as those of n
    if (of_n != 0 && (packed & 63) == (of_n & 63)) {
      of_n >>= name_bits;
      continue;
    }
    others |= (packed & 63) << at;
    at += name_bits;
  }
  const extent_t c = coefficient(e) / coefficient(n);
  return of_n != 0 || c == 0 ? 0 : c | (others << name_shift);
}
// The axis of a reshape's result `to` that has the rows of axis `at` of its operand `from`.
constexpr row_axis reshaped_rows(const shape& from, const row_axis& at, extent_t n, const shape& to) {
  extent_t before = 1, found = 1;
  for (int i = 0; i < at.axis; ++i) {
    if (!multipliable(before, from.d[i])) return {};
    before = times(before, from.d[i]);
  }
  for (int i = 0; i < to.rank; ++i) {
    if (found == before && to.d[i] != 1) {
      const extent_t block = block_of(to.d[i], n);
      return block > 0 ? row_axis{i, block} : row_axis{};
    }
    if (!multipliable(found, to.d[i])) return {};
    found = times(found, to.d[i]);
  }
  return {};
}

} // namespace tapeless::detail
