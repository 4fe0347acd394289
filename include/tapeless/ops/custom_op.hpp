// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// custom_op: the description of an op that the user adds, made from the members of Op (custom.hpp).
#pragma once
#include <tuple>
#include "../core/tensor.hpp"
#include "simplify.hpp"

namespace tapeless::detail {

// What graph, planner and executor know of a custom op.
struct custom_op {
  const char* name = "custom";
  std::uint64_t id = 0; // of the op and its operand types; part of the node's identity
  double flops = 1;     // per element of the result
  bool has_jvp = false;
  void (*vjp)(vjp_context&) = nullptr;
  int (*jvp)(graph&, const int* x, int y, const int* x_dot) = nullptr;
  // elementwise: n elements of each operand
  void (*lanes_f32)(const float* const* x, float* y, int n) = nullptr;
  void (*lanes_f64)(const double* const* x, double* y, int n) = nullptr;
  const char* device = nullptr; // the primal as text, for a device's compiler
  // whole-tensor: dense blocks, and the values of the named extents
  void (*run)(void* y, const void* const* x, const name_values& names) = nullptr;
};

template <class Op> constexpr const char* custom_name() {
  if constexpr (requires { Op::name; }) return Op::name;
  else return "custom";
}
// FNV-1a of the type names. Custom ops with equal ids are told apart by the address of their description.
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

template <class Op> constexpr const char* custom_device() {
  if constexpr (requires { Op::device; }) return Op::device;
  else return nullptr;
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

// Operand handles for the user's rules: typed if the type is known, var otherwise.
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
// Looks for the name jvp; to check a call would need its body, which may use the op itself. If Op has a jvp, the second
// member makes the name ambiguous.
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
  c.device = custom_device<Op>();
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

// From a description, which is a constant of the plan, back to the types that it was made of: a device looks for
// Op::launch, which is not instantiated for programs of the host. whole_description defines types_of for its own key.
template <class Op, class Y, class... X> struct whole_types {};
// Each key has a function of its own; compilers ask whether that is meant.
#if defined(__NVCC__)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1301
#elif defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
template <const custom_op* C> struct whole_key {
  friend constexpr auto types_of(whole_key<C>);
};
#if defined(__NVCC__)
#pragma nv_diagnostic pop
#elif defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
template <class Op, class Y, class... X> struct whole_description {
  static constexpr const custom_op* address = &whole_custom<Op, Y, X...>;
  friend constexpr auto types_of(whole_key<&whole_custom<Op, Y, X...>>) { return whole_types<Op, Y, X...>{}; }
};

} // namespace tapeless::detail
