// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What depends on where an element stands: triangles, diagonals, the identity, one-hot rows, products and grids of two vectors.
#pragma once
#include <cstdint>
#include <tuple>
#include <type_traits>
#include "arrange.hpp"
#include "elementwise.hpp"
#include "index.hpp"
#include "reduce.hpp"

namespace tapeless {

namespace detail {

// column - row, int32, of the last two axes
constexpr int diagonals(graph& g, const shape& s) {
  return binary(g, op::sub, iota(g, along(s, s.rank - 1)), iota(g, along(s, s.rank - 2)));
}
constexpr int on_diagonal(graph& g, const shape& s) {
  return binary(g, op::eq, diagonals(g, s), g.constant(0, dtype::i32));
}
template <op Compare, int K> struct triangle_rule {
  static constexpr bool takes(const shape& s) { return s.rank >= 2; }
  static constexpr shape result(const shape& s) { return s; }
  static constexpr int build(graph& g, int a) {
    const shape s = g[a].s;
    const int inside = binary(g, Compare, diagonals(g, s), g.constant(K, dtype::i32));
    return where(g, inside, a, g.constant(0, g[a].t));
  }
};
// The square that the k-th diagonal crosses, whose side is its length
template <int K> struct diagonal_rule {
  static constexpr extent_t side(const shape& s) {
    const extent_t m = s.d[s.rank - 2], n = s.d[s.rank - 1];
    if (K == 0 && m == n) return n;
    const extent_t rows = K < 0 ? m + K : m, columns = K > 0 ? n - K : n;
    return rows < columns ? rows : columns;
  }
  static constexpr bool takes(const shape& s) {
    if (s.rank < 2) return false;
    const extent_t m = s.d[s.rank - 2], n = s.d[s.rank - 1];
    return (K == 0 && m == n) || (is_static(m) && is_static(n) && side(s) >= 0);
  }
  static constexpr shape result(const shape& s) {
    return with_extent(without_axis(s, s.rank - 1), s.rank - 2, side(s));
  }
  static constexpr int square(graph& g, int a) { // 0 off the diagonal
    const shape s = g[a].s;
    const extent_t n = side(s);
    if (is_static(n)) {
      a = slice(g, a, s.rank - 2, K < 0 ? -K : 0, n);
      a = slice(g, a, s.rank - 1, K > 0 ? K : 0, n);
    }
    return where(g, on_diagonal(g, g[a].s), a, g.constant(0, g[a].t));
  }
  static constexpr int build(graph& g, int a) {
    const int q = square(g, a), rank = g[q].s.rank;
    return reshape(g, sum(g, q, 1u << (rank - 1)), result(g[a].s));
  }
};

struct eye_rule {
  static constexpr bool takes(const shape& s) { return s.rank >= 2; }
  static constexpr shape result(const shape& s) { return s; }
  static constexpr int build(graph& g, int a) {
    const shape s = g[a].s;
    return where(g, expand(g, on_diagonal(g, s), s), g.constant(1, g[a].t), g.constant(0, g[a].t));
  }
};
template <class T, extent_t N> struct one_hot_rule {
  static constexpr bool takes(const shape& s) { return s.rank < max_rank; }
  static constexpr shape result(const shape& s) { return with_axis(s, s.rank, N); }
  static constexpr int build(graph& g, int a) {
    const shape s = result(g[a].s);
    const int hit =
        binary(g, op::eq, iota(g, along(s, s.rank - 1)), reshape(g, a, with_extent(s, s.rank - 1, 1)));
    return unary(g, cast_op(dtype::boolean, dtype_of<T>), hit, dtype_of<T>);
  }
};

template <class A>
concept of_labels = any_var<A> || std::is_same_v<value_type_t<A>, std::int32_t>;
template <class A, class B>
concept vectors = any_var<A, B> || (A::extents.rank == 1 && B::extents.rank == 1);
template <class A, class B> constexpr bool require_vectors(const A& a, const B& b) {
  graph& g = graph_of(a, b);
  return require(g, g[a.id()].s.rank == 1 && g[b.id()].s.rank == 1,
                 "tapeless: outer(a, b), meshgrid(a, b): both have one axis", g[a.id()].s, g[b.id()].s);
}
template <class A>
concept of_numbers = any_var<A> || floating_point<value_type_t<A>>;

} // namespace detail

// ---- what the user writes -------------------------------------------------------------------------------------
// Errors: compile errors.

// tril<k>(a): a where column - row <= k, elsewhere 0, of the last two axes.   triu<k>(a): where column - row >= k
// In the loop of its reader; two flops for each position.
template <int K = 0, detail::handle A> constexpr auto tril(const A& a) {
  using rule = detail::triangle_rule<detail::op::le, K>;
  static_assert(detail::arrangeable<rule, A>, "tapeless: tril<k>(a), triu<k>(a): a has at least two axes");
  return detail::arranged<rule>(a, "tapeless: tril<k>(a), triu<k>(a): a has at least two axes");
}
template <int K = 0, detail::handle A> constexpr auto triu(const A& a) {
  using rule = detail::triangle_rule<detail::op::ge, K>;
  static_assert(detail::arrangeable<rule, A>, "tapeless: tril<k>(a), triu<k>(a): a has at least two axes");
  return detail::arranged<rule>(a, "tapeless: tril<k>(a), triu<k>(a): a has at least two axes");
}
// diagonal<k>(a): the elements with column - row = k of the last two axes.   trace<k>(a): their sum
// a is float or double. Cost: one flop for each element of the square that the diagonal crosses, two for each position in it.
template <int K = 0, detail::handle A> constexpr auto diagonal(const A& a) {
  using rule = detail::diagonal_rule<K>;
  static_assert(detail::of_numbers<A>,
                "tapeless: diagonal<k>(a), trace<k>(a): the element type is float or double");
  static_assert(
      detail::arrangeable<rule, A>,
      "tapeless: diagonal<k>(a), trace<k>(a): a has two axes that it crosses; they are static, or k is 0 and they are equal");
  return detail::arranged<rule>(
      a,
      "tapeless: diagonal<k>(a), trace<k>(a): a has two axes that it crosses; they are static, or k is 0 and they are equal");
}
template <int K = 0, detail::handle A> constexpr auto trace(const A& a) { return sum<-1>(diagonal<K>(a)); }
// eye_like(a): 1 where column = row, elsewhere 0, of a's type and shape. Its reader's loop computes it.
template <detail::handle A> constexpr auto eye_like(const A& a) {
  using rule = detail::eye_rule;
  static_assert(detail::arrangeable<rule, A>, "tapeless: eye_like(a): a has at least two axes");
  return detail::arranged<rule>(a, "tapeless: eye_like(a): a has at least two axes");
}
// one_hot<T, n>(label): (.., n) of T, 1 at the label, elsewhere 0; a row of 0 where it is not in [0, n). label: int32
// n: a number, or the name of an extent of an argument. Its reader's loop computes it.
template <element T, auto N, detail::handle A> constexpr auto one_hot(const A& label) {
  using rule = detail::one_hot_rule<T, detail::extent_of(N)>;
  static_assert(detail::of_labels<A>,
                "tapeless: one_hot<T, n>(label): label is int32, as cast<std::int32_t>(label) is");
  static_assert(detail::arrangeable<rule, A>, "tapeless: one_hot<T, n>(label): label has at most 5 axes");
  using namespace detail;
  graph& g = graph_of(label);
  if constexpr (any_var<A>) {
    require(g, g[label.id()].t == dtype::i32,
            "tapeless: one_hot<T, n>(label): label is int32, as cast<std::int32_t>(label) is");
    if (!require(g, rule::takes(g[label.id()].s), "tapeless: one_hot<T, n>(label): label has at most 5 axes"))
      return label;
    return var{&g, rule::build(g, label.id())};
  } else if constexpr (rule::takes(A::extents) && of_labels<A>)
    return wrap<T, rule::result(A::extents)>(g, rule::build(g, label.id()));
  else return label;
}

// outer(a, b)[i, j] = a[i] b[j]. One flop for each.
template <detail::handle A, detail::handle B> constexpr auto outer(const A& a, const B& b) {
  static_assert(detail::vectors<A, B>, "tapeless: outer(a, b), meshgrid(a, b): both have one axis");
  if constexpr (detail::any_var<A, B>) detail::require_vectors(a, b);
  return expand_dims<-1>(a) * b;
}
// meshgrid(a, b): a tuple of two (m, n) tensors, a[i] and b[j]. Views
template <detail::handle A, detail::handle B> constexpr auto meshgrid(const A& a, const B& b) {
  using namespace detail;
  static_assert(vectors<A, B>, "tapeless: outer(a, b), meshgrid(a, b): both have one axis");
  graph& g = graph_of(a, b);
  if constexpr (any_var<A, B>) {
    using V = std::conditional_t<any_var<A>, A, B>; // var
    if (!require_vectors(a, b)) return std::tuple{V{&g, a.id()}, V{&g, b.id()}};
    const shape s{2, {g[a.id()].s.d[0], g[b.id()].s.d[0]}};
    return std::tuple{V{&g, expand(g, reshape(g, a.id(), shape{2, {s.d[0], 1}}), s)},
                      V{&g, expand(g, b.id(), s)}};
  } else if constexpr (vectors<A, B>) {
    constexpr shape s{2, {A::extents.d[0], B::extents.d[0]}};
    return std::tuple{
        wrap<typename A::value_type, s>(g, expand(g, reshape(g, a.id(), shape{2, {s.d[0], 1}}), s)),
        wrap<typename B::value_type, s>(g, expand(g, b.id(), s))};
  } else return std::tuple{a, b};
}

} // namespace tapeless
