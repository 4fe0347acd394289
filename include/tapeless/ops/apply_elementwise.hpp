// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// From the operands of an elementwise op to its node. Checks element types and shapes: of typed handles by
// static_assert, of vars in the graph.
#pragma once
#include "../core/csr.hpp"
#include "../core/tensor.hpp"
#include "../core/tree.hpp"
#include "simplify.hpp" // IWYU pragma: export

namespace tapeless::detail {

template <shape A, shape B>
concept shapes_broadcast = broadcastable(A, B);
template <class A, class B>
concept same_element_type = std::is_same_v<A, B>;
template <class T>
concept floating_point = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
concept arithmetic = floating_point<T> || std::is_same_v<T, std::int32_t>;
template <class T>
concept computes = !is_for_storage(dtype_of<T>);
template <class T>
concept rounded = std::is_same_v<T, bf16>;
template <class From, class To>
concept rounds_to = std::is_same_v<From, To> || (!rounded<From> && !rounded<To>) ||
                    std::is_same_v<From, float> || std::is_same_v<To, float>;
constexpr bool rounds(dtype from, dtype to) {
  return from == to || (from != dtype::bf16 && to != dtype::bf16) || from == dtype::f32 || to == dtype::f32;
}
constexpr op cast_op(dtype from, dtype to) {
  if (from == to) return op::cast;
  if (to == dtype::bf16) return op::narrow;
  if (from == dtype::bf16) return op::widen;
  return is_float(from) && is_float(to) ? op::convert : op::cast;
}
template <class T>
concept boolean = std::is_same_v<T, bool>;

// Is one of them a batch of images (n, c, ..), and the other (c)?
constexpr bool bias_without_channel(const shape& a, const shape& b) {
  const shape &x = a.rank > b.rank ? a : b, &y = a.rank > b.rank ? b : a;
  return x.rank >= 3 && y.rank == 1 && x.d[1] == y.d[0];
}
template <shape A, shape B>
concept bias_meets_channels = broadcastable(A, B) || !bias_without_channel(A, B);

constexpr void require_broadcast(graph& g, int a, int b) {
  const node &x = g[a], &y = g[b];
  if (!broadcastable(x.s, y.s)) {
    require(
        g, !bias_without_channel(x.s, y.s),
        "tapeless: elementwise op(a, b): the shapes broadcast; the bias of the channels of images is tl::channel(b)",
        x.s, y.s);
    require(g, false, "tapeless: elementwise op(a, b): the shapes broadcast", x.s, y.s);
  }
  require(g, x.t == y.t, "tapeless: elementwise op(a, b): both have one element type; cast one first");
}

template <op O, class T, class A> constexpr auto apply_unary(const A& a) {
  graph& g = graph_of(a);
  return wrap<T, shape_in_type<A>(), A>(g, unary(g, O, a.id(), any_var<A> ? g[a.id()].t : dtype_of<T>));
}
template <op O, class A, class B> constexpr auto apply_binary(const A& a, const B& b) {
  graph& g = graph_of(a, b);
  const dtype t = dtype_among(a, b);
  const int x = lift(g, a, t), y = lift(g, b, t);
  using T = value_type_t<A, B>;
  using R = std::conditional_t<compares(O), bool, T>;
  if constexpr (typed_handle<A> && typed_handle<B>) {
    using U = value_type_t<B>;
    constexpr shape sa = shape_in_type<A>(), sb = shape_in_type<B>();
    static_assert(same_element_type<T, U>,
                  "tapeless: elementwise op(a, b): both have one element type; cast one first");
    if constexpr (!shapes_broadcast<sa, sb>)
      static_assert(
          bias_meets_channels<sa, sb>,
          "tapeless: elementwise op(a, b): the shapes broadcast; the bias of the channels of images is tl::channel(b)");
    static_assert(shapes_broadcast<sa, sb>, "tapeless: elementwise op(a, b): the shapes broadcast");
    if constexpr (same_element_type<T, U> && shapes_broadcast<sa, sb>)
      return wrap<R, broadcast(sa, sb)>(g, binary(g, O, x, y));
    else return basic_tensor<R, sa>{&g, x};
  } else {
    require_broadcast(g, x, y);
    return wrap<R, broadcast(shape_in_type<A>(), shape_in_type<B>()), A, B>(g, binary(g, O, x, y));
  }
}
template <op O, class A, class B> constexpr auto apply_arithmetic(const A& a, const B& b) {
  static_assert(
      any_var<A, B> || computes<value_type_t<A, B>>,
      "tapeless: op(a): bf16, uint8 and int64 are for storage; cast<float>(a) first, or cast<std::int32_t>(a) of integers");
  static_assert(
      any_var<A, B> || arithmetic<value_type_t<A, B>>,
      "tapeless: arithmetic op(a, b): the element type is float, double or int32; cast a mask first");
  if constexpr (any_var<A, B>)
    require(graph_of(a, b), dtype_among(a, b) != dtype::boolean,
            "tapeless: arithmetic op(a, b): the element type is float, double or int32; cast a mask first");
  return apply_binary<O>(a, b);
}
template <op O, class A, class B> constexpr auto apply_real(const A& a, const B& b) {
  static_assert(
      any_var<A, B> || computes<value_type_t<A, B>>,
      "tapeless: op(a): bf16, uint8 and int64 are for storage; cast<float>(a) first, or cast<std::int32_t>(a) of integers");
  static_assert(any_var<A, B> || floating_point<value_type_t<A, B>>,
                "tapeless: real op(a, b): the element type is float or double; cast both first");
  if constexpr (any_var<A, B>)
    require(graph_of(a, b), is_float(dtype_among(a, b)),
            "tapeless: real op(a, b): the element type is float or double; cast both first");
  return apply_binary<O>(a, b);
}
// A function of one operand, which may not be a sparse matrix: the zeros that it does not store would be 1 of exp.
template <class A>
concept function_operand = handle<A> || csr_matrix<A>;
template <class A>
concept is_a_tensor = handle<A>;
template <class A> constexpr A no_function(const A& a) {
  static_assert(is_a_tensor<A>,
                "tapeless: sparse f(a): write a.with(f(a.values())), which computes with the entries stored");
  return a;
}
// The sentence once more: a call of no_function would put the user's line further from the error.
template <op O, csr_matrix A> constexpr A apply_real(const A& a) {
  static_assert(is_a_tensor<A>,
                "tapeless: sparse f(a): write a.with(f(a.values())), which computes with the entries stored");
  return a;
}
template <op O, csr_matrix A> constexpr A apply_arithmetic(const A& a) {
  static_assert(is_a_tensor<A>,
                "tapeless: sparse f(a): write a.with(f(a.values())), which computes with the entries stored");
  return a;
}
template <op O, class A> constexpr auto apply_real(const A& a) {
  using T = value_type_t<A>;
  static_assert(
      any_var<A> || computes<T>,
      "tapeless: op(a): bf16, uint8 and int64 are for storage; cast<float>(a) first, or cast<std::int32_t>(a) of integers");
  static_assert(any_var<A> || floating_point<T>,
                "tapeless: real op(a): the element type is float or double; cast<float>(a) first");
  if constexpr (any_var<A>)
    require(graph_of(a), is_float(a.type()),
            "tapeless: real op(a): the element type is float or double; cast<float>(a) first");
  return apply_unary<O, T>(a);
}
template <op O, class A> constexpr auto apply_arithmetic(const A& a) {
  using T = value_type_t<A>;
  static_assert(
      any_var<A> || computes<T>,
      "tapeless: op(a): bf16, uint8 and int64 are for storage; cast<float>(a) first, or cast<std::int32_t>(a) of integers");
  static_assert(any_var<A> || arithmetic<T>,
                "tapeless: arithmetic op(a): the element type is float, double or int32; cast a mask first");
  if constexpr (any_var<A>)
    require(graph_of(a), a.type() != dtype::boolean,
            "tapeless: arithmetic op(a): the element type is float, double or int32; cast a mask first");
  return apply_unary<O, T>(a);
}
template <op O, class A, class B> constexpr auto apply_logical(const A& a, const B& b) {
  static_assert(any_var<A, B> || boolean<value_type_t<A, B>>,
                "tapeless: logical op(a, b): the element type is bool");
  if constexpr (any_var<A, B>)
    require(graph_of(a, b), dtype_among(a, b) == dtype::boolean,
            "tapeless: logical op(a, b): the element type is bool");
  return apply_binary<O>(a, b);
}
template <class A, class B>
concept handle_among = operand<A> && operand<B> && (handle<A> || handle<B>);
template <class A>
concept mutable_handle = handle<A> && !std::is_const_v<A>;
template <class A, class B> // A always has such an assignment, if only for its message
concept result_fits = std::is_convertible_v<const B&, A>;

template <class A, class B> constexpr A& assign(A& a, const B& b) {
  static_assert(result_fits<A, B>,
                "tapeless: a += b: a + b has the type and extents of a; a tl::var takes any, so for - * /");
  if constexpr (result_fits<A, B>) a = b;
  return a;
}

} // namespace tapeless::detail
