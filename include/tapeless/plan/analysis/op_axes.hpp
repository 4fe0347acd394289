// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// How each op passes on rows S, positions along one axis.
//   where_rows_come_from    the rows of the operands that rows S of the result need:    f(x)[S] = f(x[S])
//   where_rows_go           the axis of the result that has the rows of an operand
//   where_rows_are_summed   is the result a sum over the rows of an operand?
// ops/read_facts.hpp says where it is zero, and in which operands it is linear.
// scatter_pullup.hpp and gather_pushdown.hpp rewrite programs by them.
#pragma once
#include "../../ops/all.hpp"
#include "../../ops/read_facts.hpp" // IWYU pragma: export

namespace tapeless::detail {

struct rows_of_operands {
  bool known = false;  // rows of the result follow from these rows of the operands
  row_axis operand[3]; // not found: every row needs all of the operand
};

// s: the shapes of the operands
constexpr rows_of_operands where_rows_come_from(const node& v, const shape (&s)[3], const row_axis& at,
                                                extent_t n) {
  const axes_fact axes = rule(v.o).facts.axes;
  rows_of_operands r;
  for (int k = 0; k < 3; ++k) {
    if (v.in[k] < 0) continue;
    const operand_rows x = axes(v, s, k, at, n);
    r.operand[k] = x.axis;
    r.known = r.known || x.axis.found() || x.repeated;
  }
  return r;
}

// The axis of the result that has the rows of operand k along its axis `from`, if there is one.
constexpr row_axis where_rows_go(const node& v, const shape (&s)[3], int k, const row_axis& from,
                                 extent_t n) {
  for (int axis = 0; axis < v.s.rank; ++axis) {
    const extent_t block = block_of(v.s.d[axis], n);
    if (block == 0) continue;
    const rows_of_operands r = where_rows_come_from(v, s, {axis, block}, n);
    if (r.known && r.operand[k].equals(from)) return {axis, block};
  }
  return {};
}

// Does the result sum over the rows of operand k?
constexpr row_sum where_rows_are_summed(const node& v, const shape (&s)[3], int k, const row_axis& from) {
  return rule(v.o).facts.sums(v, s, k, from);
}

} // namespace tapeless::detail
