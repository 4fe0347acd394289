// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// x = A^-1 b for a sparse triangular A, by substitution.
//   vjp: b_bar = A^-T x_bar     a_bar = -sddmm(b_bar, x) within the triangle
#pragma once
#include "../core/csr.hpp"
#include "shape.hpp"
#include "sparse.hpp"
#include "spmm.hpp"

namespace tapeless {

// Which triangle solve_triangular reads; unit: the diagonal is taken as ones, whatever is stored.
struct triangle {
  bool upper = false, unit = false;
};

namespace detail {

// attr of sparse_solve: spmm_transposed, and these of the matrix as stored
inline constexpr std::uint64_t solves_upper = 8, solves_unit = 16, solves_wide = 32; // its row ends are int64

// @pre b is (n) or (n, k), the matrix (n, n)
constexpr int sparse_solve(graph& g, int pattern, int values, int b, std::uint64_t attr) {
  if (g.is(b, 0)) return b;
  return g.intern({.o = op::sparse_solve,
                   .t = g[values].t,
                   .in = {pattern, dense(g, values), dense(g, b)},
                   .attr = attr | (has_wide_row_ends(g, pattern) ? solves_wide : 0),
                   .attr2 = g[pattern].attr2,
                   .s = g[b].s});
}
// 1 for each entry that a solve reads, 0 for the others
constexpr int entries_of_triangle(graph& g, int pattern, dtype t, std::uint64_t attr) {
  return g.intern({.o = op::sddmm,
                   .t = t,
                   .in = {pattern, no_node, no_node},
                   .attr = first_is_ones | second_is_ones |
                           ((attr & solves_upper) != 0 ? in_upper_triangle : in_lower_triangle) |
                           ((attr & solves_unit) != 0 ? off_diagonal : 0),
                   .attr2 = g[pattern].attr2,
                   .s = shape{1, {nnz_of_pattern(g[pattern])}}});
}
template <shape S>
concept is_square = S.rank == 2 && S.d[0] == S.d[1];

} // namespace detail

// solve_triangular<triangle{.upper, .unit}>(A, b): the x with A x = b; A is (n, n), b (n) or (n, k); A may be a
// transpose(A), whose triangle is the other one. Entries outside the triangle are not read; their gradient is 0.
// Errors: compile errors. A is square, b has its rows and its element type. A zero or missing diagonal gives inf or
// NaN.
// Cost: at most 2 e k flops, in one thread: each row waits for those before it.
template <triangle Triangle = triangle{}, detail::sparse_operand A, detail::handle B>
constexpr auto solve_triangular(const A& a, const B& b) {
  using namespace detail;
  graph& g = trace_of(csr_of(a), b);
  const auto m = in_trace(g, csr_of(a));
  const B y = in_trace(g, b);
  using T = typename std::remove_cvref_t<decltype(m)>::value_type;
  constexpr shape s = extents_of<A>();
  static_assert(is_square<s>, "tapeless: solve_triangular(a, b): a is (n, n)");
  constexpr bool in_rows = are_in_rows<std::remove_cvref_t<decltype(m)>>;
  static_assert(are_in_rows<std::remove_cvref_t<decltype(m)>>,
                "tapeless: solve_triangular(a, b): a is not tiled; csr_untiled(a) has its entries by rows");
  constexpr std::uint64_t transposed = csr_matrix<A> ? 0 : spmm_transposed;
  constexpr bool upper = csr_matrix<A> ? Triangle.upper : !Triangle.upper;
  constexpr std::uint64_t attr = transposed | (upper ? solves_upper : 0) | (Triangle.unit ? solves_unit : 0);
  if constexpr (!in_rows) return y;
  else if constexpr (any_var<B>) {
    const shape x = g[y.id()].s;
    require(g, (x.rank == 1 || x.rank == 2) && x.d[0] == s.d[0],
            "tapeless: solve_triangular(a, b): b is (n) or (n, k), n the rows of a", s, x);
    require(g, g[y.id()].t == dtype_of<T>,
            "tapeless: solve_triangular(a, b): both are float or both are double");
    if (!g.sound()) return y;
    return var{&g, sparse_solve(g, pattern_of(g, m), m.values().id(), y.id(), attr)};
  } else {
    static_assert(floating_point<T> && same_element_type<T, typename B::value_type>,
                  "tapeless: solve_triangular(a, b): both are float or both are double");
    static_assert(vector_or_matrix_of_rows<B::extents, s.d[0]>,
                  "tapeless: solve_triangular(a, b): b is (n) or (n, k), n the rows of a");
    if constexpr (is_square<s> && vector_or_matrix_of_rows<B::extents, s.d[0]>)
      return wrap<T, B::extents>(g, sparse_solve(g, pattern_of(g, m), m.values().id(), y.id(), attr));
    else return y;
  }
}

namespace detail {

// A product and a difference for each entry, a division on the diagonal; how many lie in the triangle is not known
// here.
constexpr count sparse_solve_flops(const node& v, const shape*) {
  return {2, shape{2, {static_cast<extent_t>(v.attr2), v.s.rank == 2 ? v.s.d[1] : 1}}};
}
constexpr void sparse_solve_vjp(vjp_context& c) {
  graph& g = c.g;
  const int p = c.v.in[0];
  const int b_bar = sparse_solve(g, p, c.v.in[1], c.bar.node, c.v.attr ^ spmm_transposed);
  c.give(2, {&g, b_bar});
  if (!c.needs(1)) return;
  const bool t = (c.v.attr & spmm_transposed) != 0;
  const int d = t ? sddmm(g, p, c.y.node, b_bar) : sddmm(g, p, b_bar, c.y.node);
  c.give(1, {&g, unary(g, op::neg, binary(g, op::mul, d, entries_of_triangle(g, p, c.v.t, c.v.attr)))});
}
inline constexpr op_rule sparse_solve_rules[] = {
    {op::sparse_solve, "sparse_solve", kind::kernel, sparse_solve_flops, no_facts, sparse_solve_vjp}};

} // namespace detail
} // namespace tapeless
