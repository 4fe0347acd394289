// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The product of two sparse matrices on a given pattern: c_ij = sum_k a_ik b_kj for the entries (i, j) of C.
//   vjp: a_ik = sum_j c_ij b_kj     b_kj = sum_i a_ik c_ij
// These three are one trilinear form: spgemm computes the values of one matrix from those of the two others.
#pragma once
#include "../core/csr.hpp"
#include "shape.hpp"
#include "sparse.hpp"
#include "spmm.hpp"

namespace tapeless {
namespace detail {

// attr of spgemm: which of a, b, c it computes; the other two are its operands, in this order
inline constexpr std::uint64_t spgemm_a = 0, spgemm_b = 1, spgemm_c = 2;
constexpr std::uint64_t made_by_spgemm(std::uint64_t attr) { return attr & 3; }
// and whether the row ends of its pattern 0, 1 or 2 are int64
constexpr std::uint64_t spgemm_wide(int pattern) { return std::uint64_t{4} << pattern; }

constexpr int three_patterns(graph& g, int a, int b, int c) {
  return g.intern({.o = op::three_patterns, .t = dtype::i32, .in = {a, b, c}, .s = g[c].s});
}
constexpr int spgemm(graph& g, int patterns, std::uint64_t which, int x, int y) {
  node v;
  v.o = op::spgemm;
  v.t = g[x].t;
  v.in[0] = patterns;
  v.in[1] = dense(g, x);
  v.in[2] = dense(g, y);
  v.attr = which;
  for (int k = 0; k < 3; ++k)
    if (has_wide_row_ends(g, g[patterns].in[k])) v.attr |= spgemm_wide(k);
  v.s = shape{1, {nnz_of_pattern(g[g[patterns].in[which]])}};
  return g.intern(v);
}
template <shape A, shape B, shape C>
concept product_extents = A.d[0] == C.d[0] && A.d[1] == B.d[0] && B.d[1] == C.d[1];

} // namespace detail

// sampled_matmul(C, A, B): the pattern of C with the values of A B; those of C are not read
//   A: (m, k)   B: (k, n)   C: (m, n), all sparse; csr_product_pattern(a, b) makes a C that misses no entry of A B
// Errors: compile errors. The extents agree, and the element types.
// Cost: for each a_ik and b_kj a product, a sum and a search in a row of C. The flops depend on the patterns: cost
// reports none.
template <detail::csr_matrix C, detail::csr_matrix A, detail::csr_matrix B>
constexpr auto sampled_matmul(const C& c, const A& a, const B& b) {
  using namespace detail;
  using T = typename C::value_type;
  static_assert(product_extents<A::extents, B::extents, C::extents>,
                "tapeless: sampled_matmul(c, a, b), all sparse: a is (m, k), b is (k, n), c is (m, n)");
  constexpr bool one_type = floating_point<T> && same_element_type<T, typename A::value_type> &&
                            same_element_type<T, typename B::value_type>;
  static_assert(floating_point<T> && same_element_type<T, typename A::value_type> &&
                    same_element_type<T, typename B::value_type>,
                "tapeless: sampled_matmul(c, a, b), all sparse: all are float or all are double");
  static_assert(
      are_in_rows<C, A, B>,
      "tapeless: sampled_matmul(c, a, b), all sparse: none is tiled; csr_untiled(a) has its entries by rows");
  if constexpr (product_extents<A::extents, B::extents, C::extents> && one_type && are_in_rows<C, A, B>) {
    graph& g = trace_of(a, b, c);
    const A x = in_trace(g, a);
    const B y = in_trace(g, b);
    const C z = in_trace(g, c);
    const int patterns = three_patterns(g, pattern_of(g, x), pattern_of(g, y), pattern_of(g, z));
    return csr_with<C, basic_tensor<T, C::values_type::extents>>(
        z, spgemm(g, patterns, spgemm_c, x.values().id(), y.values().id()));
  } else return c;
}

namespace detail {

constexpr void spgemm_vjp(vjp_context& c) {
  graph& g = c.g;
  const int p = c.v.in[0], d = c.bar.node, x = c.v.in[1], y = c.v.in[2];
  switch (made_by_spgemm(c.v.attr)) {
    case spgemm_c: // c(a, b)
      if (c.needs(1)) c.give(1, {&g, spgemm(g, p, spgemm_a, y, d)});
      if (c.needs(2)) c.give(2, {&g, spgemm(g, p, spgemm_b, x, d)});
      break;
    case spgemm_a: // a(b, c)
      if (c.needs(1)) c.give(1, {&g, spgemm(g, p, spgemm_b, d, y)});
      if (c.needs(2)) c.give(2, {&g, spgemm(g, p, spgemm_c, d, x)});
      break;
    default: // b(a, c)
      if (c.needs(1)) c.give(1, {&g, spgemm(g, p, spgemm_a, d, y)});
      if (c.needs(2)) c.give(2, {&g, spgemm(g, p, spgemm_c, x, d)});
  }
}
inline constexpr op_rule spgemm_rules[] = {
    {op::three_patterns, "patterns", kind::view, no_flops, no_facts},
    {op::spgemm, "spgemm", kind::kernel, no_flops, no_facts, spgemm_vjp}};

} // namespace detail
} // namespace tapeless
