// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which rows of A x nobody needs, on a back end without CSR sweeps: A x is 0 there, and loops go on over all rows. So it is not
// enough that what they make of such a row is multiplied by 0: it must be finite, too.
#pragma once
#include "../../expr/node.hpp"
#include "../../expr/program.hpp"
#include "../../ops/all.hpp"
#include "csr_sweep_masks.hpp"
#include "fusion_groups.hpp"

namespace tapeless::detail {

// Is op o finite where its operands are, but for overflow?
constexpr bool is_total(op o) {
  switch (o) {
    case op::neg:
    case op::square:
    case op::tanh:
    case op::erf:
    case op::erfc:
    case op::sigmoid:
    case op::relu:
    case op::abs:
    case op::sign:
    case op::sin:
    case op::cos:
    case op::atan:
    case op::asinh:
    case op::floor:
    case op::ceil:
    case op::round:
    case op::softplus:
    case op::copy:
    case op::cast:
    case op::convert:
    case op::stop_gradient:
    case op::add:
    case op::sub:
    case op::mul:
    case op::hypot:
    case op::quotient:
    case op::modulo:
    case op::bit_and:
    case op::bit_or:
    case op::bit_xor:
    case op::shift_left:
    case op::shift_right:
    case op::max:
    case op::min:
    case op::where:
    case op::logical_not:
    case op::logical_and:
    case op::logical_or: return true;
    default: return compares(o);
  }
}

// In the rows that a mask leaves out: does node i depend on node z, and is it finite where z is 0?
inline constexpr char relies_not = 0, relies_finite = 1, relies = 2;
constexpr char reliance_of(const node* nodes, int i, int z, const vec<left_out>& is, const vec<char>& on) {
  const node& v = nodes[i];
  char most = relies_not;
  bool by_zero = false;
  for (int k = 0; k < 3; ++k) {
    if (v.in[k] < 0) continue;
    by_zero = by_zero || is[v.in[k]] == left_out::zero;
    const left_out condition =
        v.o == op::where && on[v.in[0]] == relies_not ? is[v.in[0]] : left_out::unknown;
    const bool unread = (k == 1 && condition == left_out::zero) || (k == 2 && condition == left_out::nonzero);
    if (!unread && on[v.in[k]] > most) most = on[v.in[k]];
  }
  if (most == relies_not || rule(v.o).k == kind::view) return most;
  if (most == relies_finite && by_zero && (v.o == op::mul || v.o == op::logical_and)) return relies_not;
  const bool of_product = v.in[0] == z && (v.o == op::exp || v.o == op::expm1); // 1 and 0 where z is 0
  return is_total(v.o) || of_product ? most : relies;
}
// Has node i an element for each row of z, which stems from that row of its operands?
constexpr bool is_by_row(const node* nodes, int i, const shape& rows) {
  const node& v = nodes[i];
  return (rule(v.o).k == kind::elementwise || v.o == op::expand || v.o == op::reshape) &&
         squeezed(v.s) == rows;
}
// A program of any size
struct nodes_and_results {
  const node* nodes;
  int size;
  const int* outputs;
  int output_count;
};
// Does anyone need the rows of z at which node m has this value? always: see mask_facts
constexpr bool needs_rows(const nodes_and_results& p, int z, int m, left_out value,
                          const vec<left_out>& always) {
  vec<left_out> is = always;
  vec<char> on(p.size, relies_not);
  is[m] = value;
  on[z] = relies_finite;
  for (int i = 0; i < p.size; ++i) {
    if (i == m || i == z) continue;
    if (is_by_row(p.nodes, i, p.nodes[z].s)) {
      find_left_out(p.nodes, i, is);
      on[i] = reliance_of(p.nodes, i, z, is, on);
    } else
      for (const int x : p.nodes[i].in)
        if (x >= 0 && on[x] != relies_not) return true;
  }
  for (int k = 0; k < p.output_count; ++k)
    if (on[p.outputs[k]] != relies_not) return true;
  return false;
}
// The nodes that what is made of z row by row is multiplied by or chosen with, and what those stem from.
constexpr vec<char> beside_product(const node* nodes, int n, int z) {
  vec<char> of_z(n, 0), beside(n, 0);
  of_z[z] = 1;
  for (int i = z + 1; i < n; ++i)
    for (const int x : nodes[i].in)
      if (x >= 0 && of_z[x] != 0 && is_by_row(nodes, i, nodes[z].s)) of_z[i] = 1;
  for (int i = n - 1; i >= 0; --i) {
    const op o = nodes[i].o;
    const bool masks = of_z[i] != 0 && (o == op::where || o == op::mul || o == op::logical_and);
    if (!masks && (beside[i] == 0 || !is_by_row(nodes, i, nodes[z].s))) continue;
    for (const int x : nodes[i].in)
      if (x >= 0 && of_z[x] == 0) beside[x] = 1;
  }
  return beside;
}

// The mask of step A x, node z in `group`; node == no_node: all rows are needed.
// overwritten: node -> the base that it is added to in place
constexpr row_mask mask_of_product(const nodes_and_results& p, const grouping& r, const mask_facts& facts,
                                   int z, int group, const vec<int>& overwritten) {
  const node& y = p.nodes[z];
  if (r.loaded[z] != 0 || p.nodes[y.in[0]].o == op::tiles) return {};
  const vec<char> beside = beside_product(p.nodes, p.size, z);
  for (const bool conditions : {true, false})
    for (int m = 0; m < p.size; ++m) {
      const node& v = p.nodes[m];
      if (beside[m] == 0 || !(squeezed(v.s) == y.s) || conditions != (v.t == dtype::boolean) ||
          (!conditions && v.t != y.t) || overwritten.contains(m))
        continue;
      const bool is_there =
          v.o == op::input || (r.of[m] >= 0 && r.of[m] < group && r.stored[m] != 0 && r.last[m] >= group);
      for (const bool passes_where_zero : {false, true})
        if (is_there && (!passes_where_zero || facts.is_tested[m] != 0) &&
            !needs_rows(p, z, m, passes_where_zero ? left_out::nonzero : left_out::zero, facts.always))
          return {m, passes_where_zero};
    }
  return {};
}

} // namespace tapeless::detail
