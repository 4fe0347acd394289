// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// y = einsum<"ij,jk->ik">(a, b): products of elements, summed over the letters that the result does not have
//
// Two operands that share a summed letter, while one of them has a letter of its own, are multiplied by matmul, batched over
// the letters that both have and that stay. All else is a product of elements and a sum, which fuse.
#pragma once
#include <cstddef>
#include <type_traits>
#include "elementwise.hpp"
#include "grid.hpp"
#include "matmul.hpp"
#include "reduce.hpp"
#include "subscripts.hpp" // IWYU pragma: export

namespace tapeless {
namespace detail {

// An operand on its way: a node, and the label of each of its axes.
struct einsum_factor {
  int node = no_node;
  labels axes;
};

// a with its axes in this order   @pre the same labels
constexpr einsum_factor ordered(graph& g, const einsum_factor& a, const labels& order) {
  std::uint64_t perm = 0;
  for (int i = 0; i < order.n; ++i)
    perm |= static_cast<std::uint64_t>(a.axes.position(order.of[i])) << (4 * i);
  return {order.n == 0 ? a.node : transpose(g, a.node, perm), order};
}
// The extents of these labels, each axis of its own or all as one
constexpr shape extents_of(const labels& l, const label_extents& extents) {
  shape s{l.n, {}};
  for (int i = 0; i < l.n; ++i) s.d[i] = extents.of[l.of[i]];
  return s;
}
constexpr extent_t numel_of(const labels& l, const label_extents& extents) {
  return numel(extents_of(l, extents));
}
// The sum over the axes whose label is not kept
constexpr einsum_factor sum_of_others(graph& g, const einsum_factor& a, const labels& kept) {
  unsigned axes = 0;
  for (int i = 0; i < a.axes.n; ++i)
    if (!kept.has(a.axes.of[i])) axes |= 1u << i;
  if (axes == 0) return a;
  return {reshape(g, sum(g, a.node, axes), dropped(g[a.node].s, axes)), a.axes.among(kept)};
}
// The diagonal of the last two axes, which are equal
constexpr int diagonal_of_last(graph& g, int a) {
  const shape s = g[a].s;
  const unsigned last = 1u << (s.rank - 1);
  return reshape(g, sum(g, where(g, on_diagonal(g, s), a, g.constant(0, g[a].t)), last), dropped(s, last));
}
// An operand: without axes of extent 1 that broadcast, and with each label once, on the diagonal of equal ones
constexpr einsum_factor operand_of(graph& g, int node, const labels& axes, const label_extents& extents) {
  einsum_factor a{node, {}};
  const shape s = g[node].s;
  unsigned repeated = 0;
  for (int i = 0; i < axes.n; ++i) {
    if (s.d[i] != extents.of[axes.of[i]]) repeated |= 1u << i;
    else a.axes.add(axes.of[i]);
  }
  a.node = reshape(g, node, dropped(s, repeated));
  for (int i = 0; i < a.axes.n; ++i)
    for (int j = i + 1; j < a.axes.n; ++j) {
      if (a.axes.of[i] != a.axes.of[j]) continue;
      labels rest;
      std::uint64_t perm = 0;
      for (int k = 0; k < a.axes.n; ++k) {
        if (k == i || k == j) continue;
        perm |= static_cast<std::uint64_t>(k) << (4 * rest.n);
        rest.add(a.axes.of[k]);
      }
      perm |= static_cast<std::uint64_t>(i) << (4 * rest.n) | static_cast<std::uint64_t>(j)
                                                                  << (4 * rest.n + 4);
      rest.add(a.axes.of[i]);
      a = {diagonal_of_last(g, transpose(g, a.node, perm)), rest};
      return operand_of(g, a.node, a.axes, extents);
    }
  return a;
}
// Its axes among those of a product: extents of 1 stand for the others
constexpr int spread(graph& g, const einsum_factor& a, const labels& of_product) {
  const einsum_factor in_order = ordered(g, a, of_product.among(a.axes));
  shape s{of_product.n, {}};
  for (int i = 0, k = 0; i < of_product.n; ++i)
    s.d[i] = a.axes.has(of_product.of[i]) ? g[in_order.node].s.d[k++] : 1;
  return reshape(g, in_order.node, s);
}
// (batch, rows, columns), one axis each, no axis without batch labels. Is it read transposed, so that it need not be copied?
struct matrix_of {
  int node;
  bool transposed;
};
constexpr matrix_of as_matrices(graph& g, const einsum_factor& a, const labels& batch, const labels& rows,
                                const labels& columns, const label_extents& extents) {
  const labels straight = batch.then(rows).then(columns), across = batch.then(columns).then(rows);
  const bool transposed = !a.axes.equals(straight) && a.axes.equals(across);
  const einsum_factor q = ordered(g, a, transposed ? across : straight);
  const extent_t m = numel_of(rows, extents), n = numel_of(columns, extents);
  shape s{0, {}};
  if (batch.n > 0) s.d[s.rank++] = numel_of(batch, extents);
  s.d[s.rank++] = transposed ? n : m;
  s.d[s.rank++] = transposed ? m : n;
  return {reshape(g, q.node, s), transposed};
}
// The product of a and b, summed over the labels of both that are not kept
constexpr einsum_factor contracted(graph& g, const einsum_factor& a, const einsum_factor& b,
                                   const labels& kept, const label_extents& extents) {
  const labels both = a.axes.among(b.axes), batch = both.among(kept), inner = both.without(kept);
  const labels rows = a.axes.without(both), columns = b.axes.without(both);
  if (inner.n == 0 || (rows.n == 0 && columns.n == 0)) {
    const labels all = kept.among(a.axes.then(columns)).then(inner);
    const einsum_factor product{binary(g, op::mul, spread(g, a, all), spread(g, b, all)), all};
    return sum_of_others(g, product, kept);
  }
  for (int i = 0; i < kept.n && rows.n > 0 && !rows.has(kept.of[i]);
       ++i) // its rows stand first in the result
    if (columns.has(kept.of[i])) return contracted(g, b, a, columns.then(kept.without(columns)), extents);
  const matrix_of x = as_matrices(g, a, batch, rows, inner, extents),
                  y = as_matrices(g, b, batch, inner, columns, extents);
  const labels axes = batch.then(rows).then(columns);
  return {reshape(g, matmul(g, x.node, y.node, x.transposed, y.transposed), extents_of(axes, extents)), axes};
}
constexpr int einsum(graph& g, const parsed_subscripts& p, const int* node, const shape* s) {
  const label_extents extents = extents_of_labels(p, s);
  einsum_factor product;
  for (int k = 0; k < p.operands; ++k) {
    const labels kept = kept_behind(p, s, k), used = k == 0 ? kept : product.axes.then(kept);
    const einsum_factor a = sum_of_others(g, operand_of(g, node[k], axes_of_operand(p, s, k), extents), used);
    product = k == 0 ? a : contracted(g, product, a, kept, extents);
  }
  const labels axes = axes_of_result(p, s);
  return ordered(g, product, axes).node;
}

inline constexpr const char
    *einsum_ranks = "tapeless: einsum<subscripts>(a, ...): each operand has an axis for each of its letters",
    *einsum_extents = "tapeless: einsum<subscripts>(a, ...): a letter stands for one extent",
    *einsum_axes = "tapeless: einsum<subscripts>(a, ...): a product of the first operands has at most 6 axes",
    *einsum_types = "tapeless: einsum<subscripts>(a, ...): all are float or all are double";
template <subscripts S, class... A>
concept one_axis_for_each_letter = [] {
  const shape s[] = {A::extents...};
  return ranks_fit(parsed_of<S>, s);
}();
template <subscripts S, class... A>
concept one_extent_for_each_letter = [] {
  const shape s[] = {A::extents...};
  return extents_of_labels(parsed_of<S>, s).agree;
}();
template <subscripts S, class... A>
concept at_most_six_axes_of_products = [] {
  const shape s[] = {A::extents...};
  return products_fit(parsed_of<S>, s);
}();
template <subscripts S, class... A> constexpr shape einsum_shape() {
  const shape s[] = {A::extents...};
  return extents_of(axes_of_result(parsed_of<S>, s), extents_of_labels(parsed_of<S>, s));
}
template <class A, class... B>
concept of_one_float_type =
    floating_point<value_type_t<A>> && (std::is_same_v<value_type_t<A>, value_type_t<B>> && ...);

template <subscripts S, class A, class... B> constexpr auto apply_einsum(const A& a, const B&... b) {
  graph& g = graph_of(a, b...);
  const int node[] = {a.id(), b.id()...};
  if constexpr (any_var<A, B...>) {
    const shape s[] = {g[a.id()].s, g[b.id()].s...};
    const dtype t = g[a.id()].t;
    if (!require(g, is_float(t) && ((g[b.id()].t == t) && ...), einsum_types) ||
        !require(g, ranks_fit(parsed_of<S>, s), einsum_ranks, s[0], s[sizeof...(B)]) ||
        !require(g, extents_of_labels(parsed_of<S>, s).agree, einsum_extents, s[0], s[sizeof...(B)]) ||
        !require(g, products_fit(parsed_of<S>, s), einsum_axes, s[0], s[sizeof...(B)]))
      return var{&g, a.id()};
    return var{&g, einsum(g, parsed_of<S>, node, s)};
  } else {
    static_assert(of_one_float_type<A, B...>,
                  "tapeless: einsum<subscripts>(a, ...): all are float or all are double");
    static_assert(one_axis_for_each_letter<S, A, B...>,
                  "tapeless: einsum<subscripts>(a, ...): each operand has an axis for each of its letters");
    if constexpr (of_one_float_type<A, B...> && one_axis_for_each_letter<S, A, B...>) {
      static_assert(one_extent_for_each_letter<S, A, B...>,
                    "tapeless: einsum<subscripts>(a, ...): a letter stands for one extent");
      static_assert(
          at_most_six_axes_of_products<S, A, B...>,
          "tapeless: einsum<subscripts>(a, ...): a product of the first operands has at most 6 axes");
      if constexpr (one_extent_for_each_letter<S, A, B...> && at_most_six_axes_of_products<S, A, B...>) {
        constexpr shape s[] = {A::extents, B::extents...};
        return wrap<value_type_t<A>, einsum_shape<S, A, B...>()>(g, einsum(g, parsed_of<S>, node, s));
      } else return a;
    } else return a;
  }
}
template <subscripts S>
concept letters_commas_one_arrow = parsed_of<S>.well_formed;
template <subscripts S>
concept result_of_letters_of_operands = parsed_of<S>.result_is_of_operands;
template <subscripts S, int N>
concept one_operand_for_each_subscript = parsed_of<S>.operands == N;

} // namespace detail

// einsum<subscripts>(a, ...): as numpy.einsum. A letter names an axis; those of one letter have one extent.
//   einsum<"ij,jk->ik">(a, b)   einsum<"bhqd,bhkd->bhqk">(q, k)   einsum<"ii">(a)   einsum<"...i,...i->...">(a, b)
// Elements are multiplied, and summed over each letter that the result does not have. A letter twice in one operand is its diagonal.
// Without -> the result has the letters that stand once, in the order of the alphabet. An ellipsis stands for further axes, which
// broadcast; where the result has none, they are summed. Spaces are skipped. At most 8 operands, multiplied from left to right.
// Errors: compile errors. All are float or all are double.
// Cost: that of the ops it is made of: a diagonal, a sum for letters of one operand alone, then for each further operand a matmul, or
// a product of elements and a sum; an operand whose letters stand in another order may be copied.
template <detail::subscripts S, detail::handle A, detail::handle... B> constexpr auto einsum(const A& a,
                                                                                             const B&... b) {
  constexpr const detail::parsed_subscripts& p = detail::parsed_of<S>;
  static_assert(
      detail::letters_commas_one_arrow<S>,
      "tapeless: einsum<subscripts>(a, ...): subscripts are letters, ellipses, commas between at most 8 operands, and one ->");
  static_assert(detail::one_operand_for_each_subscript<S, 1 + sizeof...(B)>,
                "tapeless: einsum<subscripts>(a, ...): there is one operand for each part between commas");
  static_assert(
      detail::result_of_letters_of_operands<S>,
      "tapeless: einsum<subscripts>(a, ...): a letter of the result stands once in it, and in an operand");
  if constexpr (p.well_formed && p.operands == 1 + sizeof...(B) && p.result_is_of_operands)
    return detail::apply_einsum<S>(a, b...);
  else return a;
}

} // namespace tapeless
