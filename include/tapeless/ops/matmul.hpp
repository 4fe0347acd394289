// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// c[.., m, n] = sum_k a[.., m, k] * b[.., k, n]       batch axes broadcast as in NumPy
// vjp: a_bar += c_bar b^T    b_bar += a^T c_bar       (summed over broadcast batch axes)
// A transposed operand is read in place: matmul(transpose(a), b) copies nothing.
// bf16 operands give float: products are exact, sums are float. Their vjp rounds c_bar to bf16 and multiplies likewise.
#pragma once
#include "bf16.hpp"
#include "reduce.hpp"

namespace tapeless {
namespace detail {

constexpr shape batch_of(const shape& s) {
  shape r = s;
  r.rank -= 2;
  return r;
}
constexpr shape with_matrix(shape batch, extent_t m, extent_t n) {
  batch.d[batch.rank++] = m;
  batch.d[batch.rank++] = n;
  return batch;
}
constexpr shape matrices_of(const shape& s, const shape& batch) {
  return with_matrix(batch, s.d[s.rank - 2], s.d[s.rank - 1]);
}
constexpr bool transposes(const graph& g, int a) {
  return g[a].o == op::transpose && g[a].attr == matrix_perm(g[a].s.rank);
}
constexpr extent_t rows(const shape& s, bool t) { return s.d[s.rank - (t ? 1 : 2)]; }
constexpr extent_t cols(const shape& s, bool t) { return s.d[s.rank - (t ? 2 : 1)]; }

// attr bit 0: a is stored transposed; bit 1: b is
// @pre ranks >= 2, inner extents agree, batches broadcast
constexpr int matmul(graph& g, int a, int b, bool ta = false, bool tb = false) {
  if (transposes(g, a)) return matmul(g, g[a].in[0], b, !ta, tb);
  if (transposes(g, b)) return matmul(g, a, g[b].in[0], ta, !tb);
  const shape x = g[a].s, y = g[b].s;
  const shape batch = broadcast(batch_of(x), batch_of(y));
  const extent_t m = rows(x, ta), n = cols(y, tb);
  const bool a_single = numel(batch_of(x)) == 1, b_single = numel(batch_of(y)) == 1;
  if (batch.rank > 0 && b_single && !ta) { // b is one matrix for the whole batch: make a one taller matrix
    const int c = matmul(g, reshape(g, a, shape{2, {times(numel(batch_of(x)), m), cols(x, ta)}}),
                         reshape(g, b, shape{2, {rows(y, false), cols(y, false)}}), false, tb);
    return reshape(g, c, with_matrix(batch, m, n));
  }
  // an operand is one matrix, or one for each member of the batch
  if (!a_single && batch_of(x) != batch) a = expand(g, a, matrices_of(x, batch));
  if (!b_single && batch_of(y) != batch) b = expand(g, b, matrices_of(y, batch));
  return g.intern({.o = op::matmul,
                   .t = tangent_type(g[a].t),
                   .in = {dense(g, a), dense(g, b), no_node},
                   .attr = (ta ? 1u : 0u) | (tb ? 2u : 0u),
                   .s = with_matrix(batch, m, n)});
}

template <extent_t A, extent_t B>
concept inner_extents_agree = A == B;
// Would the inner extents agree if a were flattened: each row a[i, ..] to a vector, or all of a to one row?
constexpr bool not_flattened(const shape& a, const shape& b) {
  extent_t row = 1;
  for (int i = 1; i < a.rank; ++i) row = multipliable(row, a.d[i]) ? times(row, a.d[i]) : 0;
  return a.rank >= 2 && b.rank == 2 &&
         (row == b.d[0] || (is_static(row) && is_static(a.d[0]) && row * a.d[0] == b.d[0]));
}
template <shape A, shape B>
concept images_are_flattened = !not_flattened(A, B);
template <int A, int B>
concept at_least_one_axis = A >= 1 && B >= 1;
// NumPy: a vector is a row on the left, a column on the right
constexpr shape as_matrix(const shape& s, bool left) {
  if (s.rank != 1) return s;
  return left ? shape{2, {1, s.d[0]}} : shape{2, {s.d[0], 1}};
}
constexpr shape product_shape(const shape& a, const shape& b) {
  const shape x = as_matrix(a, true), y = as_matrix(b, false);
  const shape full = with_matrix(broadcast(batch_of(x), batch_of(y)), rows(x, false), cols(y, false));
  return dropped(full,
                 (a.rank == 1 ? 1u << (full.rank - 2) : 0u) | (b.rank == 1 ? 1u << (full.rank - 1) : 0u));
}
constexpr int product(graph& g, int a, int b) {
  const shape to = product_shape(g[a].s, g[b].s);
  return reshape(
      g, matmul(g, reshape(g, a, as_matrix(g[a].s, true)), reshape(g, b, as_matrix(g[b].s, false))), to);
}

} // namespace detail

// matmul(a, b): matrices, batches of matrices, vectors; as numpy.matmul
//   (.., m, k) (.., k, n) -> (.., m, n); a vector is a row on the left, a column on the right, and its axis vanishes
// bf16 operands give float: each product is exact, sums are float.
// Errors: compile errors. Both are float, both double or both bf16; each has an axis, the inner extents agree, batch
// axes broadcast.
// Cost: 2 m n k flops for each member of the batch.
template <detail::handle A, detail::handle B> constexpr auto matmul(const A& a, const B& b) {
  using namespace detail;
  graph& g = graph_of(a, b);
  if constexpr (any_var<A, B>) {
    const shape x = as_matrix(g[a.id()].s, true), y = as_matrix(g[b.id()].s, false);
    require(g, x.rank >= 2 && y.rank >= 2, "tapeless: matmul(a, b): a and b have at least one axis", x, y);
    if (!g.sound()) return var{&g, a.id()};
    const dtype t = g[a.id()].t;
    require(g, (is_float(t) || t == dtype::bf16) && t == g[b.id()].t,
            "tapeless: matmul(a, b): both are float, both are double or both are bf16");
    if (cols(x, false) != rows(y, false))
      require(
          g, !not_flattened(x, y),
          "tapeless: matmul(a, b): the inner extents agree; images (n, c, h, w) are rows (n, c h w) by tl::flatten(a), one image is tl::reshape<extents...>(a)",
          x, y);
    require(g, cols(x, false) == rows(y, false), "tapeless: matmul(a, b): the inner extents agree", x, y);
    require(g, broadcastable(batch_of(x), batch_of(y)), "tapeless: matmul(a, b): the batch axes broadcast", x,
            y);
    return var{&g, product(g, a.id(), b.id())};
  } else {
    using T = typename A::value_type;
    constexpr shape sa = A::extents, sb = B::extents;
    static_assert((floating_point<T> || rounded<T>) && same_element_type<T, typename B::value_type>,
                  "tapeless: matmul(a, b): both are float, both are double or both are bf16");
    static_assert(at_least_one_axis<sa.rank, sb.rank>,
                  "tapeless: matmul(a, b): a and b have at least one axis");
    if constexpr (at_least_one_axis<sa.rank, sb.rank>) {
      constexpr shape x = as_matrix(sa, true), y = as_matrix(sb, false);
      constexpr bool inner = inner_extents_agree<cols(x, false), rows(y, false)>;
      if constexpr (!inner)
        static_assert(
            images_are_flattened<x, y>,
            "tapeless: matmul(a, b): the inner extents agree; images (n, c, h, w) are rows (n, c h w) by tl::flatten(a), one image is tl::reshape<extents...>(a)");
      static_assert(inner_extents_agree<cols(x, false), rows(y, false)>,
                    "tapeless: matmul(a, b): the inner extents agree");
      static_assert(shapes_broadcast<batch_of(x), batch_of(y)>,
                    "tapeless: matmul(a, b): the batch axes broadcast");
      if constexpr (inner && shapes_broadcast<batch_of(x), batch_of(y)>)
        return wrap<product_type<T>, product_shape(sa, sb)>(g, product(g, a.id(), b.id()));
      else return a;
    } else return a;
  }
}

namespace detail {

constexpr count matmul_flops(const node& v, const shape* x) {
  return {2, shape{2, {numel(v.s), cols(x[0], (v.attr & 1u) != 0)}}};
}
// matmul(g, a, b, ta, tb); one multiplication for each element of a row or a column is an elementwise op, which fuses.
constexpr int fusible_matmul(graph& g, int a, int b, bool ta, bool tb) {
  const shape x = g[a].s, y = g[b].s;
  const extent_t m = rows(x, ta), n = cols(y, tb);
  if (x.rank != 2 || y.rank != 2 || cols(x, ta) != 1 || (m != 1 && n != 1)) return matmul(g, a, b, ta, tb);
  return binary(g, op::mul, widen(g, reshape(g, a, shape{2, {m, 1}})),
                widen(g, reshape(g, b, shape{2, {1, n}})));
}
constexpr void matmul_vjp(vjp_context& c) {
  const bool ta = (c.v.attr & 1u) != 0, tb = (c.v.attr & 2u) != 0;
  graph& g = c.g;
  const int a = c.v.in[0], b = c.v.in[1];
  const int d = cotangent_of_product(c);
  // the gradient of the weights first: the elementwise steps that read the one of the data then follow it
  if (c.needs(1))
    c.give(1, {&g, tb ? fusible_matmul(g, d, a, true, ta) : fusible_matmul(g, a, d, !ta, false)});
  if (c.needs(0))
    c.give(0, {&g, ta ? fusible_matmul(g, b, d, tb, true) : fusible_matmul(g, d, b, false, !tb)});
}
constexpr operand_rows matmul_axes(const node& v, const shape* x, int k, const row_axis& at, extent_t n) {
  const bool transposed = (v.attr >> k & 1u) != 0;
  if (at.axis < v.s.rank - 2) return {aligned_axes(v, x, k, at, n).axis};
  const bool has = at.axis == v.s.rank - (k == 0 ? 2 : 1);
  const int axis = x[k].rank - ((k == 0) != transposed ? 2 : 1);
  return {has ? row_axis{axis, at.block} : row_axis{}};
}
constexpr row_sum sums_of_matmul(const node& v, const shape* x, int k, const row_axis& from) {
  const bool ta = (v.attr & 1u) != 0, tb = (v.attr & 2u) != 0;
  const int inner[2] = {x[0].rank - (ta ? 2 : 1), x[1].rank - (tb ? 1 : 2)};
  return {from.axis == inner[k], 1 - k, {inner[1 - k], from.block}};
}
constexpr int make_matmul(graph& g, const node& v, const int (&in)[3], const shape&) {
  return matmul(g, in[0], in[1], (v.attr & 1u) != 0, (v.attr & 2u) != 0);
}
inline constexpr op_rule matmul_rules[] = {{op::matmul,
                                            "matmul",
                                            kind::kernel,
                                            matmul_flops,
                                            {.axes = matmul_axes,
                                             .sums = sums_of_matmul,
                                             .zero = {zero_0, zero_1},
                                             .nonzero = nowhere,
                                             .linear = {operand_0, operand_1},
                                             .attr = attr_names::nothing,
                                             .make = make_matmul},
                                            matmul_vjp}};

} // namespace detail
} // namespace tapeless
