// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Ops that the user adds. Two kinds, told apart by the members of Op:
//
// elementwise: fused like the built-in ones                  whole-tensor: a step of its own, on views
//   struct softplus {                                          struct running_sum {
//     template <class T> static T primal(T x);                   static constexpr shape result(shape x);
//     static constexpr auto vjp(auto x, auto y, auto y_bar);     static void primal(auto y, auto x);
//   };                                                           static constexpr auto vjp(auto x, auto y, auto y_bar);
//                                                                static constexpr auto jvp(auto x, auto y, auto x_dot);
//                                                              };
// There are 1 to 3 operands a, b, c: primal(a, b, c). vjp(a, b, c, y, y_bar) returns a std::tuple of one handle for
// each operand, or just the handle for one operand. A cotangent has its operand's element type, and its shape or one
// that the operand broadcasts to (the library then sums over the repeated axes).
// jvp(a, b, c, y, a_dot, b_dot, c_dot) is optional and returns a handle that broadcasts to y; without it the jvp is the
// transpose of the vjp. `flops` is optional: per element of the result.
// For a device, and for it alone:
//   elementwise: the body of primal as text, of x, y, z of type T; without // comments.
//     static constexpr const char* device = "return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));";
//   whole-tensor: launch(stream, y, a, b, c), of a cudaStream_t and of the views that primal gets, here of device memory. It puts
//   its work on the stream, where a graph may be recording it: it neither waits nor allocates, and reads no element.
//     static void launch(auto stream, auto y, auto x);
#pragma once
#include "../core/tensor.hpp"
#include "custom_op.hpp" // IWYU pragma: export
#include "reduce.hpp"

namespace tapeless {
namespace detail {

// In the caller's bools any byte but 0 is true; the user's code reads a copy of 0 and 1.
constexpr int with_bools_of_its_own(graph& g, int a) {
  int x = a;
  while (g[x].o == op::reshape) x = g[x].in[0];
  if (g[x].t != dtype::boolean || g[x].o != op::input) return a;
  return g.intern({.o = op::copy, .t = dtype::boolean, .in = {a, no_node, no_node}, .s = g[a].s});
}
constexpr int custom_node(graph& g, op o, const custom_op* c, const int (&x)[3], dtype t, shape s) {
  node v;
  v.o = o;
  v.t = t;
  v.custom = c;
  v.attr = c->id;
  for (int i = 0; i < 3; ++i)
    v.in[i] = x[i] < 0 || o == op::custom_elementwise ? x[i] : with_bools_of_its_own(g, dense(g, x[i]));
  v.s = s;
  return g.intern(v);
}

template <class Op, class... X>
concept is_whole_tensor_op = requires { Op::result(shape_in_type<X>()...); };
template <bool Typed>
concept operands_are_typed = Typed;
template <class Op, class... X> using whole_result =
    basic_tensor<value_type_t<X...>, Op::result(shape_in_type<X>()...)>;
template <class> struct var_for { // not just an alias: cudafe++ writes var... for as_var<X>...
  using type = var;
};
template <class X> using as_var = typename var_for<X>::type;
// the shape of all; rank -1 if they do not broadcast
template <shape... S> constexpr shape broadcast_all() {
  shape s;
  bool ok = true;
  ((ok = ok && broadcastable(s, S), s = ok ? broadcast(s, S) : s), ...);
  return ok ? s : shape{-1, {}};
}
template <shape... S>
concept all_shapes_broadcast = broadcast_all<S...>().rank >= 0;
template <int N>
concept one_to_three_operands = N >= 1 && N <= 3;

} // namespace detail

// custom<Op>(x...): the user's op on one to three operands, as described at the top
//   elementwise: y[i] = primal(a[i], b[i], c[i]), the operands broadcast and have one element type, float or double
//   whole-tensor (Op::result exists): primal(y, a, b, c) once a run; y has the shape result(a, b, c) and a's element type
// Errors: compile errors; what vjp and jvp return is checked where they are called.
// Cost: Op::flops (1) for each element of y; an elementwise op is fused, a whole-tensor op is a step.
// The op's own rules may call custom<Op>, hence the explicit result types: for a whole-tensor op, and for vars, which
// the rules of an elementwise op get.
template <class Op, detail::typed_handle... X>
  requires detail::is_whole_tensor_op<Op, X...>
constexpr detail::whole_result<Op, X...> custom(const X&... x) {
  using namespace detail;
  static_assert(one_to_three_operands<sizeof...(X)>,
                "tapeless: custom<op>(x...): an op has one to three operands");
  using Y = whole_result<Op, X...>;
  graph& g = graph_of(x...);
  int in[3] = {-1, -1, -1}, k = 0;
  ((in[k++] = x.id()), ...);
  return {&g,
          custom_node(g, op::custom_tensor,
                      whole_description<Op, Y, basic_tensor<typename X::value_type, X::extents>...>::address,
                      in, dtype_of<typename Y::value_type>, Y::extents)};
}
template <class Op, detail::handle... X>
  requires detail::any_var<X...>
constexpr var custom(const X&... x) {
  using namespace detail;
  static_assert(one_to_three_operands<sizeof...(X)>,
                "tapeless: custom<op>(x...): an op has one to three operands");
  static_assert(
      operands_are_typed<!is_whole_tensor_op<Op, X...>>,
      "tapeless: custom<op>(x...): a whole-tensor op takes typed handles; convert a var with as<T, extents...>()");
  graph& g = graph_of(x...);
  int in[3] = {-1, -1, -1}, k = 0;
  ((in[k++] = x.id()), ...);
  shape s = g[in[0]].s;
  for (int i = 1; i < k; ++i) {
    const shape t = g[in[i]].s;
    require(g, g[in[i]].t == g[in[0]].t, "tapeless: custom<op>(x...): the operands have one element type");
    if (!require(g, broadcastable(s, t), "tapeless: custom<op>(x...): the shapes broadcast", s, t)) break;
    s = broadcast(s, t);
  }
  const bool f32 = g[in[0]].t == dtype::f32;
  require(g, is_float(g[in[0]].t), "tapeless: custom<op>(x...): the element type is float or double");
  return var{&g, custom_node(g, op::custom_elementwise,
                             f32 ? &elementwise_custom<Op, float, as_var<X>...>
                                 : &elementwise_custom<Op, double, as_var<X>...>,
                             in, g[in[0]].t, s)};
}
template <class Op, detail::typed_handle... X>
  requires(!detail::is_whole_tensor_op<Op, X...>)
constexpr auto custom(const X&... x) {
  using namespace detail;
  static_assert(one_to_three_operands<sizeof...(X)>,
                "tapeless: custom<op>(x...): an op has one to three operands");
  graph& g = graph_of(x...);
  int in[3] = {-1, -1, -1}, k = 0;
  ((in[k++] = x.id()), ...);
  using T = value_type_t<X...>;
  static_assert(floating_point<T>, "tapeless: custom<op>(x...): the element type is float or double");
  static_assert((same_element_type<T, typename X::value_type> && ...),
                "tapeless: custom<op>(x...): the operands have one element type");
  static_assert(all_shapes_broadcast<X::extents...>, "tapeless: custom<op>(x...): the shapes broadcast");
  constexpr shape s = all_shapes_broadcast<X::extents...> ? broadcast_all<X::extents...>() : shape{};
  return wrap<T, s>(g, custom_node(g, op::custom_elementwise, &elementwise_custom<Op, T, as_var<X>...>, in,
                                   dtype_of<T>, s));
}

namespace detail {

constexpr count custom_flops_of(const node& v, const shape*) { return {v.custom->flops, v.s}; }
constexpr void custom_rule_vjp(vjp_context& c) { c.v.custom->vjp(c); }
inline constexpr op_rule custom_rules[] = {
    {op::custom_elementwise, "custom", kind::elementwise, custom_flops_of,
     aligned(nowhere, nowhere, not_linear), custom_rule_vjp},
    {op::custom_tensor, "custom", kind::kernel, custom_flops_of, no_facts, custom_rule_vjp},
};

} // namespace detail
} // namespace tapeless
