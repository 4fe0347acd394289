// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The arguments that a function is differentiated by: which of them have a tangent, and the fresh leaves that stand for
// theirs while it runs.
#pragma once
#include "../core/tree.hpp"
#include "../ops/all.hpp"
#include "derivative.hpp"

namespace tapeless::detail {

template <int Leaf, dtype Type>
concept leaf_has_a_tangent = Leaf < 0 || is_float(Type);
template <int Leaf, dtype Type>
concept leaf_is_not_for_storage = Leaf < 0 || Type != dtype::bf16;

template <class X>
concept is_a_tree_of_tensors = !number<X>;
// The first leaf that has no tangent; -1: all have one.
struct leaf_type {
  int leaf = -1;
  dtype type = dtype::f32;
};
// functions: nvcc 13.0 fails on a lambda within the initializer of a variable template (internal error, scope_stk.c)
struct look_for_tangent {
  leaf_type first{};
  int leaf = 0;
  template <class H> constexpr void operator()(H&) {
    if constexpr (typed_handle<H>)
      if (first.leaf < 0 && !is_float(dtype_of<typename H::value_type>))
        first = {leaf, dtype_of<typename H::value_type>};
    ++leaf;
  }
};
template <class X> constexpr leaf_type find_leaf_without_tangent() {
  X x{};
  look_for_tangent look;
  for_each_differentiable(x, look);
  return look.first;
}
template <class X> inline constexpr leaf_type first_without_tangent = find_leaf_without_tangent<X>();

template <class X, int Leaf = first_without_tangent<X>.leaf, dtype Type = first_without_tangent<X>.type>
constexpr void check_differentiable() {
  static_assert(is_a_tree_of_tensors<X>, "tapeless: grad<i>(f): argument i is a tree of tensors");
  static_assert(leaf_is_not_for_storage<Leaf, Type>,
                "tapeless: grad<i>(f): bf16 has no tangent: argument i is float, and f casts it to bf16");
  static_assert(
      leaf_has_a_tangent<Leaf, Type>,
      "tapeless: grad<i>(f): every leaf of argument i is float or double; integers and bool have no tangent");
}

// The rules for leaves whose types are in the graph.
constexpr void require_tangents(graph& g, const vec<int>& wrt) {
  for (const int i : wrt)
    require(g, g[i].t != dtype::bf16,
            "tapeless: grad<i>(f): bf16 has no tangent: argument i is float, and f casts it to bf16", g[i].s);
  for (const int i : wrt)
    require(
        g, is_float(g[i].t),
        "tapeless: grad<i>(f): every leaf of argument i is float or double; integers and bool have no tangent",
        g[i].s);
}
constexpr void require_same_types(graph& g, const vec<int>& x, const vec<int>& x_dot, const char* rule) {
  for (int i = 0; i < x.size(); ++i)
    require(g, g[x[i]].t == g[x_dot[i]].t && g[x[i]].s == g[x_dot[i]].s, rule, g[x[i]].s, g[x_dot[i]].s);
}

// Are they distinct leaves of the graph? Such leaves depend on nothing.
constexpr bool independent(const graph& g, const vec<int>& leaves) {
  for (int i = 0; i < leaves.size(); ++i)
    if (rule(g[leaves[i]].o).k != kind::leaf || g.is_constant(leaves[i])) return false;
  vec<char> seen(g.size(), 0);
  for (const int i : leaves) {
    if (seen[i]) return false;
    seen[i] = 1;
  }
  return true;
}
// The handles among the leaves of x..., and their graph.         @pre there is one
struct handles_in {
  vec<int> ids;
  graph* g = nullptr;

  template <class... X> constexpr explicit handles_in(const X&... x) {
    const auto look = [&](const auto& h) {
      if constexpr (handle<decltype(h)>) {
        ids.push_back(h.id());
        g = &graph_of(h);
      }
    };
    (for_each_leaf(x, look), ...);
  }
};

// Puts fresh leaves into the arguments x of f; put_back then replaces them by the actual ones in the results.
// all: of all arguments, also of y_bar or the x_dot. If they are independent, no fresh leaves are needed.
class fresh_arguments {
  bool direct_;

public:
  vec<int> actual, fresh;

  template <class F, class... X>
  constexpr fresh_arguments(const F&, const handles_in& all, X&... x)
      : direct_(std::is_empty_v<F> && independent(*all.g, all.ids)) {
    (check_differentiable<X>(), ...);
    graph& g = *all.g;
    (collect(x, actual), ...);
    require_tangents(g, actual);
    for (const int i : actual) {
      g.nodes[i].active = true;
      fresh.push_back(direct_ ? i : g.fresh(g[i].t, g[i].s));
    }
    int at = 0;
    (assign(x, g, fresh, at), ...);
  }
  constexpr void put_back(graph& g, vec<int>& ids) const {
    if (!direct_) substitute(g, fresh, actual, ids);
  }
};
// Derivatives that are zero (no_node) as nodes, in the type and shape of `like`.
constexpr void make_zeros(graph& g, vec<int>& derivatives, const vec<int>& like) {
  for (int k = 0; k < derivatives.size(); ++k)
    if (derivatives[k] < 0) derivatives[k] = zeros(g, g[like[k]].t, g[like[k]].s);
}

} // namespace tapeless::detail
