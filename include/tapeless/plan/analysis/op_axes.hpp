// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// How each op passes on rows S, positions along one axis.
//   where_rows_come_from    the rows of the operands that rows S of the result need:    f(x)[S] = f(x[S])
//   where_rows_go           the axis of the result that has the rows of an operand
//   where_rows_are_summed   is the result a sum over the rows of an operand?
//   zero_outside            is it zero outside S if these operands are?                 f(scatter(x)) = scatter(f(x))
//   is_linear               is it linear in these operands?
// scatter_pullup.hpp and gather_pushdown.hpp rewrite programs by them.
#pragma once
#include "../../ops/all.hpp"
#include "row_axis.hpp" // IWYU pragma: export

namespace tapeless::detail {

struct rows_of_operands {
  bool known = false;  // rows of the result follow from these rows of the operands
  row_axis operand[3]; // not found: every row needs all of the operand
};

// The axis of an operand of shape s that is axis `at` of node v; none if the operand is repeated along it.
constexpr row_axis aligned_axis(const node& v, const shape& s, const row_axis& at) {
  const int axis = at.axis - (v.s.rank - s.rank);
  return axis >= 0 && s.d[axis] == v.s.d[at.axis] ? row_axis{axis, at.block} : row_axis{};
}
constexpr rows_of_operands rows_of_matmul(const node& v, const shape (&s)[3], const row_axis& at) {
  rows_of_operands r;
  const int rank = v.s.rank;
  const bool ta = (v.attr & 1u) != 0, tb = (v.attr & 2u) != 0;
  if (at.axis == rank - 2) r.operand[0] = {s[0].rank - (ta ? 1 : 2), at.block};
  else if (at.axis == rank - 1) r.operand[1] = {s[1].rank - (tb ? 2 : 1), at.block};
  else {
    r.operand[0] = aligned_axis(v, s[0], at);
    r.operand[1] = aligned_axis(v, s[1], at);
  }
  r.known = r.operand[0].found() || r.operand[1].found();
  return r;
}
// s: the shapes of the operands
constexpr rows_of_operands where_rows_come_from(const node& v, const shape (&s)[3], const row_axis& at,
                                                extent_t n) {
  rows_of_operands r;
  // rows of operand 0 alone
  const auto of_first = [](const row_axis& a) {
    rows_of_operands q;
    q.known = a.found();
    q.operand[0] = a;
    return q;
  };
  if (rule(v.o).k == kind::elementwise) {
    r.known = v.s.d[at.axis] != 1;
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) r.operand[k] = aligned_axis(v, s[k], at);
    return r;
  }
  const bool other_axis = at.axis != static_cast<int>(v.attr);
  switch (v.o) {
    case op::sum:
    case op::max_reduce:
    case op::argmax:
      if (((v.attr >> at.axis) & 1u) == 0) return of_first(at);
      return r;
    case op::expand:
      r.known = v.s.d[at.axis] != 1;
      r.operand[0] = aligned_axis(v, s[0], at);
      return r;
    case op::reshape: return of_first(reshaped_rows(v.s, at, n, s[0]));
    case op::transpose: return of_first({perm_axis(v.attr, at.axis), at.block});
    case op::slice:
    case op::pad: return other_axis ? of_first(at) : r;
    case op::concat:
      if (!other_axis) return r;
      r = of_first(at);
      r.operand[1] = at;
      return r;
    case op::gather: {
      const int axis = static_cast<int>(v.attr), taken = s[1].rank;
      if (at.axis < axis) return of_first(at);
      if (at.axis >= axis + taken) return of_first({at.axis - taken + 1, at.block});
      r.known = true;
      r.operand[1] = {at.axis - axis, at.block};
      return r;
    }
    case op::matmul: return rows_of_matmul(v, s, at);
    case op::conv_fprop:
    case op::conv_dgrad: return at.axis == 0 ? of_first(at) : r;
    case op::unfold: { // each plane becomes an image
      const extent_t planes = quotient(v.s.d[0], s[0].d[0]);
      const extent_t block = block_of(at.block, planes);
      return at.axis == 0 && block > 0 ? of_first({0, block}) : r;
    }
    case op::fold:
      if (const extent_t planes = quotient(s[0].d[0], v.s.d[0]); at.axis == 0 && planes > 0)
        return of_first({0, times(at.block, planes)});
      return r;
    case op::window_max:
    case op::window_argmax:
    case op::window_gather:
    case op::window_scatter:
    case op::window_sum:
    case op::window_spread:
      if (at.axis != 0) return r;
      r = of_first(at);
      if (v.in[1] >= 0) r.operand[1] = at;
      return r;
    default: return r;
  }
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

struct row_sum {
  bool found = false;
  int other = -1; // the other operand of a product, and its axis that is summed with the rows
  row_axis axis;
};
// Does the result sum over the rows of operand k?
constexpr row_sum where_rows_are_summed(const node& v, const shape (&s)[3], int k, const row_axis& from) {
  if (v.o == op::sum) return {((v.attr >> from.axis) & 1u) != 0, -1, {}};
  if (v.o == op::conv_wgrad) return {from.axis == 0, 1 - k, from};
  if (v.o != op::matmul) return {};
  const bool ta = (v.attr & 1u) != 0, tb = (v.attr & 2u) != 0;
  const int inner[2] = {s[0].rank - (ta ? 2 : 1), s[1].rank - (tb ? 1 : 2)};
  return {from.axis == inner[k], 1 - k, {inner[1 - k], from.block}};
}

// Is v zero where the operands in `zero` are? A product with a zero counts as zero, even if the other factor is
// infinite. is_constant_zero(k): is operand k a constant 0?
template <class F> constexpr bool zero_outside(const node& v, const bool (&zero)[3], F is_constant_zero) {
  const auto is = [&](int k) { return zero[k] || is_constant_zero(k); };
  if (keeps_zero(v.o)) return zero[0];
  switch (v.o) {
    case op::div:
    case op::sum:
    case op::max_reduce:
    case op::expand:
    case op::reshape:
    case op::transpose:
    case op::slice:
    case op::pad:
    case op::gather:
    case op::conv_fprop:
    case op::conv_dgrad:
    case op::unfold:
    case op::fold:
    case op::window_gather:
    case op::window_scatter:
    case op::window_sum:
    case op::window_spread: return zero[0];
    case op::mul:
    case op::logical_and:
    case op::matmul: return zero[0] || zero[1];
    case op::add:
    case op::sub:
    case op::max:
    case op::min:
    case op::ne:
    case op::lt:
    case op::gt:
    case op::logical_or:
    case op::concat: return is(0) && is(1);
    case op::where: return zero[0] ? is(2) : is(1) && is(2);
    default: return false;
  }
}

// Is v linear in exactly these operands together, the others held fixed? Then v of a sum is the sum of v of its terms,
// and a list may have a row twice. An op that is not named here is not linear.
constexpr bool is_linear(const node& v, const bool (&in)[3]) {
  switch (v.o) {
    case op::neg:
    case op::copy:
    case op::widen:
    case op::stop_gradient:
    case op::sum:
    case op::expand:
    case op::transpose:
    case op::slice:
    case op::reshape:
    case op::pad:
    case op::unfold:
    case op::fold:
    case op::window_sum:
    case op::window_spread: return in[0];
    case op::div:
    case op::gather:
    case op::window_gather:
    case op::window_scatter: return in[0] && !in[1];
    case op::mul:
    case op::matmul:
    case op::conv_fprop:
    case op::conv_dgrad:
    case op::conv_wgrad: return in[0] != in[1];
    case op::add:
    case op::sub:
    case op::concat: return in[0] && in[1];
    case op::where: return !in[0] && in[1] && in[2];
    case op::scatter_add: return in[0] && !in[1] && (v.in[2] < 0 || in[2]);
    default: return false;
  }
}

} // namespace tapeless::detail
