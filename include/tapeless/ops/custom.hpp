// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Ops that the user adds. Two kinds, told apart by the members of Op:
//
// elementwise: fused like the built-in ones                     whole-tensor: a step of its own, on views
//   struct softplus {                                             struct running_sum {
//     template <class T> static T primal(T x);                      static constexpr shape result(shape x);
//     static constexpr auto vjp(auto x, auto y, auto y_bar);        static void primal(auto y, auto x);
//   };                                                              static constexpr auto vjp(auto x, auto y, auto y_bar);
//                                                                   static constexpr auto jvp(auto x, auto y, auto x_dot);
//                                                                 };
// 1 to 3 operands a, b, c: primal(a, b, c), vjp(a, b, c, y, y_bar) returns a std::tuple of one handle for each operand;
// for one operand the handle may stand alone. A cotangent has its operand's element type, and its shape or one that
// the operand broadcasts to (the sum over the repeated axes is taken here).
// jvp(a, b, c, y, a_dot, b_dot, c_dot) is optional: a handle that broadcasts to y; without it the jvp is the transpose
// of the vjp. `flops`, optional: per element of the result.
#pragma once
#include <tuple>
#include "../core/tensor.hpp"
#include "reduce.hpp"

namespace tapeless {
namespace detail {

// What graph, planner and executor know of a custom op.
struct custom_op {
  const char* name = "custom";
  std::uint64_t id = 0; // of the op and its operand types, part of the node's identity
  double flops = 1;     // per element of the result
  bool has_jvp = false;
  void (*vjp)(vjp_context&) = nullptr;
  int (*jvp)(graph&, const int* x, int y, const int* x_dot) = nullptr;
  // elementwise: n elements of each operand
  void (*lanes_f32)(const float* const* x, float* y, int n) = nullptr;
  void (*lanes_f64)(const double* const* x, double* y, int n) = nullptr;
  // whole-tensor: dense blocks, and the values of the named extents
  void (*run)(void* y, const void* const* x, const name_values& names) = nullptr;
};

template <class Op> constexpr const char* custom_name() {
  if constexpr (requires { Op::name; }) return Op::name;
  else return "custom";
}
// FNV-1a of the spelled types: custom ops of one id are then told apart by address.
template <class... Types> constexpr std::uint64_t type_id() {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char* c = __PRETTY_FUNCTION__; *c != 0; ++c)
    h = (h ^ static_cast<unsigned char>(*c)) * 0x100000001b3u;
  return h;
}
template <class Op> constexpr double custom_flops() {
  if constexpr (requires { Op::flops; }) return Op::flops;
  else return 1;
}

template <class R> inline constexpr bool is_tuple_of_handles = false;
template <class... D> inline constexpr bool is_tuple_of_handles<std::tuple<D...>> = (handle<D> && ...);
template <class R, int N> constexpr bool counts_handles() {
  if constexpr (is_tuple_of_handles<R>) return std::tuple_size_v<R> == N;
  else return handle<R> && N == 1;
}
template <class Result, int Operands>
concept one_handle_for_each_operand = counts_handles<Result, Operands>();
template <class Result>
concept one_handle = handle<Result>;

constexpr bool broadcasts_onto(const shape& a, const shape& to) {
  return broadcastable(a, to) && broadcast(a, to) == to;
}
constexpr void give_cotangent(vjp_context& c, int k, int d) {
  if (!c.needs(k)) return;
  const node x = c.g[c.v.in[k]];
  if (require(c.g, c.g[d].t == x.t && broadcasts_onto(x.s, c.g[d].s),
              "tapeless: custom<op>(x...): a cotangent of vjp has its operand's element type and shape",
              c.g[d].s, x.s))
    c.give(k, {&c.g, d});
}
template <int Operands, class Result> constexpr void give_all(vjp_context& c, const Result& r) {
  static_assert(one_handle_for_each_operand<Result, Operands>,
                "tapeless: custom<op>(x...): vjp returns one handle for each operand");
  if constexpr (handle<Result>) give_cotangent(c, 0, r.id());
  else if constexpr (one_handle_for_each_operand<Result, Operands>)
    with_elements(r, [&](const auto&... d) {
      int k = 0;
      (give_cotangent(c, k++, d.id()), ...);
    });
}
// y_dot repeated to y's shape
template <class Result> constexpr int tangent_of(graph& g, int y, const Result& r) {
  static_assert(one_handle<Result>, "tapeless: custom<op>(x...): jvp returns one handle");
  if constexpr (handle<Result>)
    if (require(g, g[r.id()].t == g[y].t && broadcasts_onto(g[r.id()].s, g[y].s),
                "tapeless: custom<op>(x...): the tangent of jvp has the result's element type and shape",
                g[r.id()].s, g[y].s))
      return expand(g, r.id(), g[y].s);
  return zeros(g, g[y].t, g[y].s);
}

// Operand handles for the user's rules: typed with a known type, var otherwise.
template <class H> constexpr H custom_handle(graph& g, int id) {
  if constexpr (std::is_same_v<H, var>) return var{&g, id};
  else return H{&g, id};
}
template <class... X> constexpr std::tuple<X...> custom_handles(graph& g, const int* ids) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return std::tuple<X...>{custom_handle<X>(g, ids[I])...};
  }(std::make_integer_sequence<int, sizeof...(X)>{});
}
template <class Op, class Y, class... X> constexpr void custom_vjp(vjp_context& c) {
  const std::tuple<X...> x = custom_handles<X...>(c.g, c.v.in);
  give_all<sizeof...(X)>(c, with_elements(x, [&](const auto&... a) {
                           return Op::vjp(a..., custom_handle<Y>(c.g, c.y.node),
                                          custom_handle<Y>(c.g, c.bar.node));
                         }));
}
template <class Op, class Y, class... X> constexpr int custom_jvp(graph& g, const int* x, int y,
                                                                  const int* x_dot) {
  const std::tuple<X...> primal = custom_handles<X...>(g, x), tangent = custom_handles<X...>(g, x_dot);
  return with_elements(primal, [&](const auto&... a) {
    return with_elements(tangent, [&](const auto&... t) {
      return tangent_of(g, y, Op::jvp(a..., custom_handle<Y>(g, y), t...));
    });
  });
}
// By name and not by a call, whose check would need the body: it may use the op itself. A second member of the name
// makes the name ambiguous.
struct jvp_by_name {
  int jvp;
};
template <class Op> struct jvp_probe : Op, jvp_by_name {};
template <class Op>
concept has_jvp = !requires { &jvp_probe<Op>::jvp; };

template <class Op, class T, int N> void custom_lanes(const T* const* x, T* y, int n) {
  for (int i = 0; i < n; ++i) {
    if constexpr (N == 1) y[i] = Op::primal(x[0][i]);
    else if constexpr (N == 2) y[i] = Op::primal(x[0][i], x[1][i]);
    else y[i] = Op::primal(x[0][i], x[1][i], x[2][i]);
  }
}

// The description of one op; its address is its identity.
template <class Op, class T, class... V> inline constexpr custom_op elementwise_custom = [] {
  custom_op c;
  c.name = custom_name<Op>();
  c.id = type_id<Op, T, V...>();
  c.flops = custom_flops<Op>();
  c.vjp = custom_vjp<Op, var, V...>;
  if constexpr (has_jvp<Op>) {
    c.has_jvp = true;
    c.jvp = custom_jvp<Op, var, V...>;
  }
  if constexpr (std::is_same_v<T, float>) c.lanes_f32 = custom_lanes<Op, float, sizeof...(V)>;
  else c.lanes_f64 = custom_lanes<Op, double, sizeof...(V)>;
  return c;
}();

template <class X> constexpr X view_of(const void* data, const name_values& names) {
  X x{};
  [&]<int... I>(std::integer_sequence<int, I...>) {
    x = X{static_cast<typename X::element_type*>(const_cast<void*>(data)), names.of(X::names.name[I])...};
  }(std::make_integer_sequence<int, X::names.count>{});
  return x;
}
template <class Op, class Y, class... X> void custom_run(void* y, const void* const* x,
                                                         const name_values& names) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    Op::primal(view_of<Y>(y, names), view_of<X>(x[I], names)...);
  }(std::make_integer_sequence<int, sizeof...(X)>{});
}
template <class Op, class Y, class... X> inline constexpr custom_op whole_custom = [] {
  custom_op c;
  c.name = custom_name<Op>();
  c.id = type_id<Op, Y, X...>();
  c.flops = custom_flops<Op>();
  c.vjp = custom_vjp<Op, Y, X...>;
  if constexpr (has_jvp<Op>) {
    c.has_jvp = true;
    c.jvp = custom_jvp<Op, Y, X...>;
  }
  c.run = custom_run<Op, Y, X...>;
  return c;
}();

// What the user's own code reads of the caller's bools, any byte of which but 0 is true, is a copy of 0 and 1.
constexpr int with_bools_of_its_own(graph& g, int a) {
  int x = a;
  while (g[x].o == op::reshape) x = g[x].in[0];
  if (g[x].t != dtype::boolean || g[x].o != op::input) return a;
  node v;
  v.o = op::copy;
  v.t = dtype::boolean;
  v.in[0] = a;
  v.s = g[a].s;
  return g.intern(v);
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
template <class> struct var_for { // no alias alone: cudafe++ writes var... for as_var<X>...
  using type = var;
};
template <class X> using as_var = typename var_for<X>::type;
// the shape of all; rank -1 where they do not broadcast
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

// custom<Op>(x...): the user's op on one to three operands, see above.
//   elementwise: y[i] = primal(a[i], b[i], c[i]), the operands broadcast and have one element type, float or double
//   whole-tensor (Op::result exists): primal(y, a, b, c) once a run, y of the shape result(a, b, c) and a's element type
// Errors: compile errors; what vjp and jvp return is checked where they are called.
// Cost: Op::flops an element of y (1); an elementwise op is fused, a whole-tensor op is a step.
// The result's type is stated where the op's own rules may name it: for a whole-tensor op, and for vars, which the rules
// of an elementwise op receive.
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
  return {&g, custom_node(g, op::custom_tensor,
                          &whole_custom<Op, Y, basic_tensor<typename X::value_type, X::extents>...>, in,
                          dtype_of<typename Y::value_type>, Y::extents)};
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
    {op::custom_elementwise, "custom", kind::elementwise, custom_flops_of, custom_rule_vjp},
    {op::custom_tensor, "custom", kind::kernel, custom_flops_of, custom_rule_vjp},
};

} // namespace detail
} // namespace tapeless
