// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// op_facts: what the passes ask of an op y = f(x0, x1, x2). These have no default:
//   axes     the axis of an operand that has the rows of y along an axis of y
//   sums     is y a sum over the rows of an operand?
//   zero     where y is 0, from where the operands are 0 and where they are not
//   nonzero  where y is not 0
//   linear   in which operands together f is linear, the others held fixed
//   attr     what the attribute of a node says of axes
// tests/laws/facts.cpp compares them, moves and adds with what the op does, collapsed_samples.cpp attr and make.
#pragma once
#include <cstdint>
#include <initializer_list>
#include "../expr/graph.hpp"
#include "row_axis.hpp" // IWYU pragma: export

namespace tapeless::detail {

// zero_0 | nonzero_1: wherever x0 is 0 and x1 is not. A product with a zero and a zero that is divided count as zero,
// whatever the other operand. An op that rarely makes a zero need not say `maybe`.
enum : std::uint8_t {
  zero_0 = 1,
  zero_1 = 2,
  zero_2 = 4,
  nonzero_0 = 8,
  nonzero_1 = 16,
  nonzero_2 = 32,
  maybe = 64,      // in `zero`: y may be zero there; if it stands alone, anywhere
  underflows = 128 // in `nonzero`: y may be zero there, but only by underflow
};
// x0 | x1: the set of the first two operands.
enum : std::uint8_t { operand_0 = 1, operand_1 = 2, operand_2 = 4, all_operands = 7 };
// Up to three cases, or sets.
struct fact_list {
  std::uint8_t of[3]{};
  std::uint8_t n = 0;
  constexpr fact_list(std::initializer_list<int> l) {
    for (const int x : l) of[n++] = static_cast<std::uint8_t>(x);
  }
  constexpr bool empty() const { return n == 0; }
  constexpr const std::uint8_t* begin() const { return of; }
  constexpr const std::uint8_t* end() const { return of + n; }
};
inline constexpr fact_list nowhere{}, not_linear{};

// The axis of operand k, of shape x[k], that has the rows of y along `at`, n of them. Not found: every row needs all
// of the operand.
struct operand_rows {
  row_axis axis;
  bool repeated = false; // the operand is repeated along `at`: every row reads the same of it
};
using axes_fact = operand_rows (*)(const node& v, const shape* x, int k, const row_axis& at, extent_t n);
constexpr operand_rows no_axes(const node&, const shape*, int, const row_axis&, extent_t) { return {}; }
// The axes are counted from the last one, as in broadcasting.
constexpr operand_rows aligned_axes(const node& v, const shape* x, int k, const row_axis& at, extent_t) {
  if (v.s.d[at.axis] == 1) return {};
  const int axis = at.axis - (v.s.rank - x[k].rank);
  const bool has = axis >= 0 && x[k].d[axis] == v.s.d[at.axis];
  return {has ? row_axis{axis, at.block} : row_axis{}, !has};
}
// Of all operands the same axis, unless it is the one in attr.
constexpr operand_rows axes_but_one(const node& v, const shape*, int, const row_axis& at, extent_t) {
  return {at.axis != static_cast<int>(v.attr) ? at : row_axis{}};
}
// Of operand 0 the same axis, unless it is among those in attr.
constexpr operand_rows axes_but_those(const node& v, const shape*, int, const row_axis& at, extent_t) {
  return {((v.attr >> at.axis) & 1u) == 0 ? at : row_axis{}};
}
// Of all operands the first axis, as for ops that work image by image.
constexpr operand_rows first_axes(const node&, const shape*, int, const row_axis& at, extent_t) {
  return {at.axis == 0 ? at : row_axis{}};
}
// Of operand 0 alone.
constexpr operand_rows first_axis_of_images(const node&, const shape*, int k, const row_axis& at, extent_t) {
  return {at.axis == 0 && k == 0 ? at : row_axis{}};
}

struct row_sum {
  bool found = false;
  int other = -1; // the other operand of a product, and its axis that is summed with the rows
  row_axis axis;
};
using sums_fact = row_sum (*)(const node& v, const shape* x, int k, const row_axis& from);
constexpr row_sum no_sums(const node&, const shape*, int, const row_axis&) { return {}; }

// What node::attr says of axes.
enum class attr_names : std::uint8_t { nothing, axis, axes, permutation };
struct attr_fact { // has no default
  attr_names names;
  constexpr attr_fact(attr_names n) : names(n) {}
};
// The attribute of a node of this rank if axis a is axis at(a) instead.
template <class F> constexpr std::uint64_t renumbered(std::uint64_t attr, attr_names names, int rank, F at) {
  if (names == attr_names::nothing) return attr;
  if (names == attr_names::axis) return static_cast<std::uint64_t>(at(static_cast<int>(attr)));
  std::uint64_t r = 0;
  for (int a = 0; a < rank; ++a)
    if (names == attr_names::axes) r |= (attr >> a & 1u) << at(a);
    else r |= static_cast<std::uint64_t>(at(static_cast<int>(attr >> (4 * a) & 15))) << (4 * at(a));
  return r;
}
// Makes v again from other operands, simplified like an op of the user. Without such a rule it stays as it is.
struct make_rule {
  using function = int (*)(graph& g, const node& v, const int (&in)[3], const shape& s);
  bool simplifies = false;
  function call = nullptr;
  constexpr make_rule() = default;
  constexpr make_rule(function f) : simplifies(true), call(f) {}
};
inline constexpr make_rule as_it_is;

struct op_facts {
  axes_fact axes;
  sums_fact sums;
  fact_list zero, nonzero, linear;
  attr_fact attr;
  bool moves = false; // each element of y is one of x0 or 0; the op takes any type
  bool adds = false;  // each element of y is a sum of some of x0; the op takes int32, too
  bool slow = false;  // it takes as long as some ten additions
  make_rule make = as_it_is;
};
// Of leaves and of ops of which the passes need to know nothing.
inline constexpr op_facts no_facts{.axes = no_axes,
                                   .sums = no_sums,
                                   .zero = nowhere,
                                   .nonzero = nowhere,
                                   .linear = not_linear,
                                   .attr = attr_names::nothing};
// Of an elementwise op.
constexpr op_facts aligned(const fact_list& zero, const fact_list& nonzero, const fact_list& linear) {
  return {.axes = aligned_axes,
          .sums = no_sums,
          .zero = zero,
          .nonzero = nonzero,
          .linear = linear,
          .attr = attr_names::nothing};
}
// Of a slow one that is linear in nothing.
constexpr op_facts slow_function(const fact_list& zero, const fact_list& nonzero) {
  op_facts r = aligned(zero, nonzero, not_linear);
  r.slow = true;
  return r;
}

} // namespace tapeless::detail
