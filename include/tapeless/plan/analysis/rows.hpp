// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which rows of a node matter, and how an op passes rows on. The rows are those of a list S of positions along one axis
// of extent n; a reshape may have made each of them a block of `block` neighbours.
//   where_rows_come_from: y[S] is computed from which rows of the operands?        f(x)[S] = f(x[S])
//   zero_outside: is y zero outside S where these operands are?                    f(scatter(x)) = scatter(f(x))
// plan/rewrite/scatter_pullup.hpp and plan/rewrite/gather_pushdown.hpp rewrite programs with both.
//   densifies: does a cotangent of few rows get all of them?
#pragma once
#include "strided_view.hpp" // IWYU pragma: export

namespace tapeless::detail {

// Of one tensor: its axis of extent n * block, or none.
struct row_axis {
  int axis = -1;
  extent_t block = 1;
  constexpr bool found() const { return axis >= 0; }
  // no operator: an overload set of all ops on handles would be looked at
  constexpr bool equals(const row_axis& o) const { return axis == o.axis && block == o.block; }
};

constexpr shape with_rows(shape s, const row_axis& at, extent_t count) {
  s.d[at.axis] = times(count, at.block);
  return s;
}
// e / n where that is a static number, 0 elsewhere
constexpr extent_t quotient(extent_t e, extent_t n) {
  if (n == 0 || names(e) != names(n) || coefficient(e) % coefficient(n) != 0) return 0;
  return coefficient(e) / coefficient(n);
}
// The block of e = n * block, which may be named; 0 where e is no multiple.
constexpr extent_t block_of(extent_t e, extent_t n) {
  if (n == 0 || coefficient(e) % coefficient(n) != 0) return 0;
  extent_t others = 0, of_n = names(n);
  int at = 0;
  for (extent_t packed = names(e); packed != 0; packed >>= name_bits) { // in order, as those of n
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
// The axis of `to` that has the rows of axis `at` of `from`: both have the same elements in the same order.
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

// A cotangent that is zero but for the rows of a list.
constexpr bool is_zero_elsewhere(const node& v) {
  return v.o == op::scatter_add && v.adjoint && v.attr == 0 && v.in[2] < 0;
}

// What an extent that only a run knows is taken for, where something is weighed.
inline constexpr extent_t assumed_extent = 1024;
constexpr extent_t assumed(extent_t e) { return is_static(e) ? e : coefficient(e) * assumed_extent; }
// Is the index v of a gather, or a scatter_add, along an axis of extent n a list of few rows? A selection, or one axis of
// indices, which may repeat, of at most three for four rows.
constexpr bool lists_rows(const node& v, extent_t n) {
  return v.o == op::select || (v.s.rank == 1 && 4 * assumed(v.s.d[0]) <= 3 * assumed(n));
}
// The same where it may be rows of such a list.
constexpr bool lists_rows(const node* nodes, int x, extent_t n) {
  while (rule(nodes[x].o).k == kind::view || nodes[x].o == op::copy) x = nodes[x].in[0];
  const node& v = nodes[x];
  if (v.o != op::gather || v.s.rank != 1) return lists_rows(v, n);
  const node& list = nodes[v.in[0]];
  return lists_rows(v, n) ||
         (list.s.rank == 1 && lists_rows(nodes, v.in[0], n) && lists_rows(nodes, v.in[1], list.s.d[0]));
}
// Is a cotangent that is zero outside some rows made a tensor with all of them, or added to one, and read by more than
// sums that are results? What lookups give the gradient of their table is read by nothing else; A^T y_bar reads the rows
// of A that belong to rows of y_bar which are not zero. Rows of a mask among those that some mask keeps are none; nor are
// integers, the places of rows in lists.
constexpr bool densifies(const node* nodes, int size, int i) {
  const node& v = nodes[i];
  if (v.o != op::scatter_add || !v.adjoint || v.t == dtype::i32) return false;
  const extent_t n = v.s.d[static_cast<int>(v.attr)];
  const extent_t count = numel(nodes[v.in[1]].s);
  if (has_generated_name(n) && has_generated_name(count)) return false;
  const bool fewer = is_static(count) && is_static(n) && count < n;
  if (!fewer && !lists_rows(nodes, v.in[1], n)) return false;
  constexpr char other = 0, itself = 1, term = 2;
  vec<char> is(size, other);
  is[i] = is_zero_elsewhere(v) ? itself : term;
  for (int j = i + 1; j < size; ++j)
    for (int k = 0; k < 3; ++k) {
      const node& w = nodes[j];
      if (w.in[k] < 0 || is[w.in[k]] == other) continue;
      const bool same = w.o == op::neg || w.o == op::copy || rule(w.o).k == kind::view;
      const bool adds = w.o == op::add || w.o == op::sub || (w.o == op::scatter_add && k == 2);
      const bool skips =
          is[w.in[k]] == itself && w.o == op::spmm && (w.attr & spmm_transposed) != 0 && k == 2;
      if (skips) continue;
      if (!same && !adds) return true;
      is[j] = same && is[j] != term ? is[w.in[k]] : term;
    }
  return false;
}

struct rows_of_operands {
  bool known = false;  // rows of the result follow from these rows of the operands
  row_axis operand[3]; // not found: all of the operand is read for every row
};

// s: the shapes of the operands
constexpr rows_of_operands where_rows_come_from(const node& v, const shape (&s)[3], const row_axis& at,
                                                extent_t n) {
  rows_of_operands r;
  const auto given = [](const row_axis& a) {
    rows_of_operands q;
    q.known = a.found();
    q.operand[0] = a;
    return q;
  };
  const auto same_rank = [&](int k) { // operand k has the result's axis, if not as one that is repeated
    const int axis = at.axis - (v.s.rank - s[k].rank);
    return axis >= 0 && s[k].d[axis] == v.s.d[at.axis] ? row_axis{axis, at.block} : row_axis{};
  };
  if (rule(v.o).k == kind::elementwise) {
    r.known = v.s.d[at.axis] != 1;
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) r.operand[k] = same_rank(k);
    return r;
  }
  const bool other_axis = at.axis != static_cast<int>(v.attr);
  switch (v.o) {
    case op::sum:
    case op::max_reduce:
    case op::argmax:
      if (((v.attr >> at.axis) & 1u) == 0) return given(at);
      return r;
    case op::expand:
      r.known = v.s.d[at.axis] != 1;
      r.operand[0] = same_rank(0);
      return r;
    case op::reshape: return given(reshaped_rows(v.s, at, n, s[0]));
    case op::transpose: return given({perm_axis(v.attr, at.axis), at.block});
    case op::slice:
    case op::pad: return other_axis ? given(at) : r;
    case op::concat:
      if (!other_axis) return r;
      r = given(at);
      r.operand[1] = at;
      return r;
    case op::gather: {
      const int axis = static_cast<int>(v.attr), taken = s[1].rank;
      if (at.axis < axis) return given(at);
      if (at.axis >= axis + taken) return given({at.axis - taken + 1, at.block});
      r.known = true;
      r.operand[1] = {at.axis - axis, at.block};
      return r;
    }
    case op::matmul: {
      const int rank = v.s.rank;
      const bool ta = (v.attr & 1u) != 0, tb = (v.attr & 2u) != 0;
      if (at.axis == rank - 2) return given({s[0].rank - (ta ? 1 : 2), at.block});
      if (at.axis == rank - 1) {
        r.known = true;
        r.operand[1] = {s[1].rank - (tb ? 2 : 1), at.block};
        return r;
      }
      r.operand[0] = same_rank(0);
      r.operand[1] = same_rank(1);
      r.known = r.operand[0].found() || r.operand[1].found();
      return r;
    }
    case op::conv_fprop:
    case op::conv_dgrad: return at.axis == 0 ? given(at) : r;
    case op::unfold: { // the planes of an image are images
      const extent_t planes = quotient(v.s.d[0], s[0].d[0]);
      const extent_t block = block_of(at.block, planes);
      return at.axis == 0 && block > 0 ? given({0, block}) : r;
    }
    case op::fold:
      if (const extent_t planes = quotient(s[0].d[0], v.s.d[0]); at.axis == 0 && planes > 0)
        return given({0, times(at.block, planes)});
      return r;
    case op::window_max:
    case op::window_argmax:
    case op::window_gather:
    case op::window_scatter:
    case op::window_sum:
    case op::window_spread:
      if (at.axis != 0) return r;
      r = given(at);
      if (v.in[1] >= 0) r.operand[1] = at;
      return r;
    default: return r;
  }
}

// The axis of the result that has the rows of operand k along axis `from`, if one does.
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

// The operands' rows are summed over: axis of the other operand of a product, or -1 where there is none to read by rows.
struct row_sum {
  bool found = false;
  int other = -1;
  row_axis axis;
};
constexpr row_sum where_rows_are_summed(const node& v, const shape (&s)[3], int k, const row_axis& from) {
  if (v.o == op::sum) return {((v.attr >> from.axis) & 1u) != 0, -1, {}};
  if (v.o == op::conv_wgrad) return {from.axis == 0, 1 - k, from};
  if (v.o != op::matmul) return {};
  const bool ta = (v.attr & 1u) != 0, tb = (v.attr & 2u) != 0;
  const int inner[2] = {s[0].rank - (ta ? 2 : 1), s[1].rank - (tb ? 1 : 2)};
  return {from.axis == inner[k], 1 - k, {inner[1 - k], from.block}};
}

// Is v zero where the operands in `zero` are? A product with a zero counts as zero, whatever the other factor is.
// is_constant_zero(k): of operand k
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

// Is v linear in just these operands together, the others held? Then rows may occur twice in the list, and v of a sum is the
// sum of v of its terms. No op is, unless it is said here.
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
