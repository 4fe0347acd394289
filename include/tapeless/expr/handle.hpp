// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Handles: what a traced function computes with. A typed handle (basic_tensor) has its extents in its type, so that a
// wrong shape is an error at the user's line. The handle `var` has them in the graph, so that one variable of a loop
// may change its extents.
#pragma once
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include "../core/tensor.hpp"
#include "../core/tree.hpp"
#include "graph.hpp" // IWYU pragma: export

namespace tapeless {

// A handle whose extents and element type are in the graph. Convert back with h.as<float, 8, 10>().
struct var : detail::has_no_value<var> {
  detail::graph* g = nullptr;
  int node = -1;

  constexpr var() = default;
  constexpr var(detail::graph* graph, int id) : g(graph), node(id) {}
  // tl::var h = x; from then on h may take any extents
  template <class T, tapeless::shape S, class Space>
  constexpr var(const basic_tensor<T, S, Space>& h) : g(h.graph_ptr()), node(h.id()) {}

  constexpr detail::graph* graph_ptr() const { return g; }
  constexpr int id() const { return node; }
  // The extents and the element type at this point of the program.
  constexpr tapeless::shape dims() const { return g->nodes[node].s; }
  constexpr tapeless::dtype type() const { return g->nodes[node].t; }
  // The same node as a typed handle. Errors: a compile error if T or the extents differ.
  template <element T, extent_t... N> constexpr tensor<T, N...> as() const;
};

namespace detail {

template <class X>
concept typed_handle = is_tensor_v<std::remove_cvref_t<X>>;
template <class X>
concept handle = typed_handle<X> || std::is_same_v<std::remove_cvref_t<X>, var>;
template <class X>
concept operand = handle<X> || number<X>;

template <class A, class... R> constexpr graph& graph_of(const A& a, const R&... r) {
  if constexpr (handle<A>) {
    if (a.graph_ptr() == nullptr) // while tracing the compiler quotes this line
      throw std::logic_error(
          "tapeless: ops are traced: call them in a function that is given to tl::jit, and that on its arguments: auto run = "
          "tl::jit(f).bind<X...>(); run(x...)");
    return *a.graph_ptr();
  } else return graph_of(r...);
}

// Extents and type of a typed handle; numbers and vars count as rank 0 here.
template <class X> constexpr shape shape_in_type() {
  if constexpr (typed_handle<X>) return std::remove_cvref_t<X>::extents;
  else return shape{};
}
template <class A, class... R> struct value_type_of : value_type_of<R...> {};
template <typed_handle A, class... R> struct value_type_of<A, R...> {
  using type = typename std::remove_cvref_t<A>::value_type;
};
template <class A> struct value_type_of<A> {
  using type = double;
};
template <typed_handle A> struct value_type_of<A> {
  using type = typename std::remove_cvref_t<A>::value_type;
};
template <class... A> using value_type_t = typename value_type_of<std::remove_cvref_t<A>...>::type;

template <class... A> inline constexpr bool any_var = (std::is_same_v<std::remove_cvref_t<A>, var> || ...);

// the operand's node in g; a number becomes a constant of type t
template <class X> constexpr int lift(graph& g, const X& x, dtype t) {
  if constexpr (number<X>) {
    if constexpr (std::is_floating_point_v<std::remove_cvref_t<X>>)
      g.require(
          is_float(t),
          is_for_storage(t)
              ? "tapeless: op(a): bf16, uint8 and int64 are for storage; cast<float>(a) first, or cast<std::int32_t>(a) of integers"
              : "tapeless: elementwise op(a, b): a floating-point number does not meet an int32 or bool "
                "tensor; cast the tensor");
    else if (t == dtype::i32)
      g.require(static_cast<double>(x) >= std::numeric_limits<std::int32_t>::min() &&
                    static_cast<double>(x) <= std::numeric_limits<std::int32_t>::max(),
                "tapeless: elementwise op(a, b): a number beside an int32 tensor is an int32");
    return g.constant(static_cast<double>(x), t);
  } else {
    if (!require(g, x.graph_ptr() == &g, "tapeless: elementwise op(a, b): the operands belong to one trace"))
      return g.constant(0, t);
    return x.id();
  }
}
template <class A, class... R> constexpr dtype dtype_among(const A& a, const R&... r) {
  if constexpr (handle<A>) return a.graph_ptr()->nodes[a.id()].t;
  else return dtype_among(r...);
}

// The result handle for node id: typed where all operands are.
template <class T, shape S, class... Operands> constexpr auto wrap(graph& g, int id) {
  if constexpr (any_var<Operands...>) return var{&g, id};
  else return basic_tensor<T, S>{&g, id};
}

} // namespace detail

template <element T, extent_t... N> constexpr tensor<T, N...> var::as() const {
  if (detail::require(*g, type() == dtype_of<T>,
                      "tapeless: var.as<T, extents...>(): the element type is T") &&
      detail::require(*g, dims() == shape_of<N...>,
                      "tapeless: var.as<T, extents...>(): the extents are these", dims(), shape_of<N...>))
    return {g, node};
  return {g, g->fresh(dtype_of<T>, shape_of<N...>)};
}

} // namespace tapeless
