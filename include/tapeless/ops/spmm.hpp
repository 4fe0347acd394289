// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The nodes and rules of products with sparse matrices. For A with the entries a_e at (i_e, j_e):
//   spmm    C = A B:   C[i_e, :] += a_e B[j_e, :]       C = A^T B:   C[j_e, :] += a_e B[i_e, :]
//   sddmm   a_e = <L[i_e, :], R[j_e, :]>                on a given pattern
// Each is linear in its two operands; its vjp is the other for one operand, itself for the other:
//   spmm:  a_bar = sddmm(C_bar, B)     B_bar = A^T C_bar         sddmm:  L_bar = A(a_bar) R     R_bar = A(a_bar)^T L
// An operand of all ones is left out: row sums are A 1, and sddmm(s, 1) gives each entry the number s[i_e] of its row.
#pragma once
#include "matmul.hpp"
#include "shape.hpp"

namespace tapeless::detail {

// ---- attributes of spmm and sddmm; attr2 is nnz ---------------------------------------------------------------
inline constexpr std::uint64_t spmm_transposed = 1, first_is_ones = 2, second_is_ones = 4;
// of an sddmm of ones and ones: the entries outside a triangle are 0 (sparse_solve.hpp)
inline constexpr std::uint64_t in_lower_triangle = 8, in_upper_triangle = 16, off_diagonal = 32;
inline constexpr std::uint64_t in_tiles = 64; // the matrix is tiled
// of a step A^T C: C is zero outside selected rows
inline constexpr std::uint64_t skips_zero_rows = 128;
// of a step of any sparse op: it reads lines (plan_rules::sorts); of a product or lines: the row ends are int64; of a product
// with a mask: it is bool
inline constexpr std::uint64_t in_lines = 256, wide_row_ends = 512, bool_mask = 1024;

// The columns and row_end of a as one operand: attr is cols, attr2 nnz, the extent the number of rows.
template <class A> constexpr int pattern_of(graph& g, const A& a) {
  return g.intern({.o = is_tiled_v<A> ? op::tiles : op::pattern,
                   .t = dtype::i32,
                   .in = {a.columns().id(), a.row_end().id(), no_node},
                   .attr = static_cast<std::uint64_t>(A::extents.d[1]),
                   .attr2 = static_cast<std::uint64_t>(A::values_type::extents.d[0]),
                   .s = shape{1, {A::extents.d[0]}}});
}
constexpr extent_t cols_of_pattern(const node& v) { return static_cast<extent_t>(v.attr); }
constexpr extent_t nnz_of_pattern(const node& v) { return static_cast<extent_t>(v.attr2); }
constexpr std::uint64_t tiles_of(const graph& g, int pattern) {
  return g[pattern].o == op::tiles ? in_tiles : 0;
}
constexpr bool has_wide_row_ends(const graph& g, int pattern) { return g[g[pattern].in[1]].t == dtype::i64; }

constexpr bool all_ones(const graph& g, int x) {
  while (g[x].o == op::expand || g[x].o == op::reshape) x = g[x].in[0];
  return g.is(x, 1);
}
// the operand x, or ones if there is none
constexpr int factor(graph& g, int x, dtype t, extent_t n) {
  return x >= 0 ? x : expand(g, g.constant(1, t), shape{1, {n}});
}
// makes x operand k of v, unless it is all ones
constexpr void take_factor(graph& g, node& v, int k, int x, std::uint64_t ones) {
  if (all_ones(g, x)) v.attr |= ones;
  else v.in[k] = dense(g, x);
}

// values = by * rest: one number for all of them, or one for each row or column of the matrix. rest: no_node for ones.
enum class scales : std::uint8_t { nothing, all, rows, columns };
struct scaled_values {
  scales what = scales::nothing;
  int by = no_node, rest = no_node;
};
// For rows and columns `by` must be an argument: a computed number, as 1 / sum<1>(A), may be infinite in a row or
// column without entries, where the product must still be 0.
constexpr scaled_values scaling_of(const graph& g, int pattern, int values) {
  const node& v = g[values];
  const auto is_spread = [&](int x, std::uint64_t ones) { // a vector over the entries
    if (g[x].o != op::sddmm || g[x].in[0] != pattern || (g[x].attr & ~in_tiles) != ones) return false;
    int s = g[x].in[ones == second_is_ones ? 1 : 2];
    while (g[s].o == op::reshape || g[s].o == op::copy || g[s].o == op::cast || g[s].o == op::slice)
      s = g[s].in[0];
    return g[s].o == op::input;
  };
  if (v.o == op::expand && squeezed(g[v.in[0]].s).rank == 0 && !all_ones(g, values))
    return {scales::all, v.in[0], no_node};
  if (is_spread(values, second_is_ones)) return {scales::rows, v.in[1], no_node};
  if (is_spread(values, first_is_ones)) return {scales::columns, v.in[2], no_node};
  if (v.o != op::mul) return {};
  for (const int k : {0, 1}) {
    const int x = v.in[k], rest = v.in[1 - k];
    if (squeezed(g[x].s).rank == 0 && squeezed(g[rest].s).rank != 0) return {scales::all, x, rest};
    if (is_spread(x, second_is_ones)) return {scales::rows, g[x].in[1], rest};
    if (is_spread(x, first_is_ones)) return {scales::columns, g[x].in[2], rest};
  }
  return {};
}

// A product with a vector does not scale the values: diag(s) A b = s (A b), and (A diag(s)) b = A (s b).
// @pre b is (cols) or (cols, k); transposed: (rows) or (rows, k)
constexpr int spmm(graph& g, int pattern, int values, int b, bool transposed) {
  shape result = g[b].s;
  result.d[0] = transposed ? cols_of_pattern(g[pattern]) : g[pattern].s.d[0];
  if (g.in_adjoint && (is_zero(g, values) || is_zero(g, b))) return zeros(g, g[values].t, result);
  if (result.rank == 1)
    if (const scaled_values of = scaling_of(g, pattern, values); of.what != scales::nothing) {
      const int by = of.what == scales::all ? reshape(g, of.by, shape{}) : of.by;
      const int rest = factor(g, of.rest, g[values].t, nnz_of_pattern(g[pattern]));
      if (of.what != scales::all && (of.what == scales::rows) == transposed)
        return spmm(g, pattern, rest, binary(g, op::mul, by, b), transposed);
      return binary(g, op::mul, by, spmm(g, pattern, rest, b, transposed));
    }
  node v;
  v.o = op::spmm;
  v.t = g[values].t;
  v.in[0] = pattern;
  v.attr = (transposed ? spmm_transposed : 0) | tiles_of(g, pattern);
  v.attr2 = g[pattern].attr2;
  v.s = result;
  take_factor(g, v, 1, values, first_is_ones);
  if (v.s.rank == 1) take_factor(g, v, 2, b, second_is_ones);
  else v.in[2] = dense(g, b);
  return g.intern(v);
}
// @pre l is (rows) or (rows, k), r (cols) or (cols, k)
constexpr int sddmm(graph& g, int pattern, int l, int r) {
  node v;
  v.o = op::sddmm;
  v.t = g[l].t;
  v.in[0] = pattern;
  v.attr = tiles_of(g, pattern);
  v.attr2 = g[pattern].attr2;
  v.s = shape{1, {nnz_of_pattern(g[pattern])}};
  if (g[l].s.rank == 1) {
    take_factor(g, v, 1, l, first_is_ones);
    take_factor(g, v, 2, r, second_is_ones);
  } else {
    v.in[1] = dense(g, l);
    v.in[2] = dense(g, r);
  }
  return g.intern(v);
}

constexpr count spmm_flops(const node& v, const shape*) {
  const double k = (v.attr & (first_is_ones | second_is_ones)) == 0 ? 2 : 1;
  return {k, shape{2, {static_cast<extent_t>(v.attr2), v.s.rank == 2 ? v.s.d[1] : 1}}};
}
constexpr count sddmm_flops(const node& v, const shape* x) {
  const extent_t nnz = static_cast<extent_t>(v.attr2);
  if ((v.attr & (first_is_ones | second_is_ones)) != 0) return {};
  if (x[1].rank == 1) return {1, shape{1, {nnz}}};
  return {2, shape{2, {nnz, x[1].d[1]}}};
}
// Does x depend on a product with this matrix?
constexpr bool comes_of_product(const graph& g, int x, int pattern) {
  vec<char> read(x + 1, 0);
  read[x] = 1;
  for (int i = x; i >= 0; --i) {
    if (read[i] == 0) continue;
    const node& v = g[i];
    if ((v.o == op::spmm || v.o == op::sddmm) && v.in[0] == pattern) return true;
    for (const int y : v.in)
      if (y >= 0) read[y] = 1;
  }
  return false;
}
// x = number * rest, the number depends on a product with the matrix; no_node: there is no such factor
struct number_and_rest {
  int number = no_node, rest = no_node;
};
constexpr number_and_rest without_number(graph& g, int x, int pattern) {
  const node v = g[x];
  const int operands = v.o == op::mul ? 2 : v.o == op::div || v.o == op::neg || v.o == op::expand ? 1 : 0;
  for (int k = 0; k < operands; ++k) {
    const int a = v.in[k];
    const bool is_number = squeezed(g[a].s).rank == 0;
    if (v.o == op::mul && is_number && comes_of_product(g, a, pattern))
      return {reshape(g, a, shape{}), expand(g, v.in[1 - k], v.s)};
    if (is_number) continue;
    const number_and_rest r = without_number(g, a, pattern);
    if (r.number < 0) continue;
    const int rest = v.o == op::neg      ? unary(g, op::neg, r.rest)
                     : v.o == op::expand ? r.rest
                     : k == 0            ? binary(g, v.o, r.rest, v.in[1])
                                         : binary(g, v.o, v.in[0], r.rest);
    return {r.number, expand(g, rest, v.s)};
  }
  if (const int k = v.o == op::where ? branch_beside_zero(g, x) : 0; k > 0)
    if (const number_and_rest r = without_number(g, v.in[k], pattern); r.number >= 0)
      return {r.number, expand(g, with_branch(g, v, k, r.rest), v.s)};
  return {};
}
// A^T (s r) = s (A^T r): then a row does not wait for a number that depends on all rows, as in the gradient of the root
// of a sum. If all rows are zero, the root is 0 and s infinite, but the gradient is still 0.
constexpr int spmm_of_cotangent(graph& g, int pattern, int values, int bar, bool transposed) {
  if (transposed && g[bar].s.rank == 1)
    if (const number_and_rest r = without_number(g, bar, pattern); r.number >= 0) {
      const int y = spmm(g, pattern, values, r.rest, true);
      const int zero = zeros(g, g[y].t, g[y].s), difference = binary(g, op::sub, r.number, r.number);
      const int finite = binary(g, op::eq, difference, g.constant(0, g[y].t));
      const int counts = binary(g, op::logical_or, expand(g, finite, g[y].s), binary(g, op::ne, y, zero));
      return where(g, counts, binary(g, op::mul, r.number, y), zero);
    }
  return spmm(g, pattern, values, bar, transposed);
}
constexpr void spmm_vjp(vjp_context& c) {
  graph& g = c.g;
  const int p = c.v.in[0];
  const node pattern = g[p];
  const bool t = (c.v.attr & spmm_transposed) != 0;
  const extent_t rows_of_b = t ? pattern.s.d[0] : cols_of_pattern(pattern);
  if (c.needs(1)) {
    const int b = factor(g, c.v.in[2], c.v.t, rows_of_b);
    c.give(1, {&g, t ? sddmm(g, p, b, c.bar.node) : sddmm(g, p, c.bar.node, b)});
  }
  if (c.needs(2))
    c.give(2, {&g, spmm_of_cotangent(g, p, factor(g, c.v.in[1], c.v.t, nnz_of_pattern(pattern)), c.bar.node,
                                     !t)});
}
constexpr void sddmm_vjp(vjp_context& c) {
  graph& g = c.g;
  const int p = c.v.in[0];
  const node pattern = g[p];
  if (c.needs(1))
    c.give(1, {&g, spmm(g, p, c.bar.node, factor(g, c.v.in[2], c.v.t, cols_of_pattern(pattern)), false)});
  if (c.needs(2)) c.give(2, {&g, spmm(g, p, c.bar.node, factor(g, c.v.in[1], c.v.t, pattern.s.d[0]), true)});
}
// clang-format off
inline constexpr op_rule sparse_rules[] = {
  {op::pattern, "pattern", kind::view, no_flops, no_facts},
  {op::tiles,   "tiles",   kind::view, no_flops, no_facts},
  {op::spmm,    "spmm",    kind::kernel, spmm_flops, no_facts, spmm_vjp},
  {op::sddmm,   "sddmm",   kind::kernel, sddmm_flops, no_facts, sddmm_vjp},
};
// clang-format on

} // namespace tapeless::detail
