// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// y[i] = f(a[i], b[i], c[i])      operands broadcast as in NumPy      y: the broadcast shape
//
// Subgradients: relu'(0) = 0. At a tie max and min give the cotangent to the first operand. where gives nothing, not
// even a NaN, to the branch that is not taken (guard_unread.hpp).
#pragma once
#include <numbers>
#include "../core/tensor.hpp"
#include "apply_elementwise.hpp" // IWYU pragma: export

namespace tapeless {

// ---- what the user writes -------------------------------------------------------------------------------------
// Shapes: the operands broadcast; a number beside a tensor has the tensor's element type.
// Errors: compile errors. The shapes broadcast; all operands have one element type, which the op takes:
//   + - * neg square max min < <= > >=         float, double, int32        == !=      those and bool
//   pow sqrt exp log tanh erf sigmoid relu     float, double               && || !    bool
//   / float, double, and of int32 as integer.hpp says
// Cost: one flop an element of the result, sigmoid four; && || ! where, cast and stop_gradient none.
// clang-format off

// a + b, a - b, a * b, a / b
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator+(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::add>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator-(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::sub>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator*(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::mul>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator/(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::div>(a, b); }
template <detail::handle A> constexpr auto operator-(const A& a) { return detail::apply_arithmetic<detail::op::neg>(a); }

// a += b is a = a + b, and so on: the result has a's type and extents; a var takes any
template <detail::mutable_handle A, detail::operand B> constexpr A& operator+=(A& a, const B& b) { return detail::assign(a, a + b); }
template <detail::mutable_handle A, detail::operand B> constexpr A& operator-=(A& a, const B& b) { return detail::assign(a, a - b); }
template <detail::mutable_handle A, detail::operand B> constexpr A& operator*=(A& a, const B& b) { return detail::assign(a, a * b); }
template <detail::mutable_handle A, detail::operand B> constexpr A& operator/=(A& a, const B& b) { return detail::assign(a, a / b); }

// max(a, b), min(a, b): a tie's cotangent goes to a.   pow(a, b) = a^b for a >= 0, or constant b
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto max(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::max>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto min(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::min>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto pow(const A& a, const B& b) { return detail::apply_real<detail::op::pow>(a, b); }

template <detail::function_operand A> constexpr auto square(const A& a) { return detail::apply_arithmetic<detail::op::square>(a); }
template <detail::function_operand A> constexpr auto sqrt(const A& a) { return detail::apply_real<detail::op::sqrt>(a); }
template <detail::function_operand A> constexpr auto exp(const A& a) { return detail::apply_real<detail::op::exp>(a); }
template <detail::function_operand A> constexpr auto log(const A& a) { return detail::apply_real<detail::op::log>(a); }
template <detail::function_operand A> constexpr auto tanh(const A& a) { return detail::apply_real<detail::op::tanh>(a); }
// erf(a) = 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to a
template <detail::function_operand A> constexpr auto erf(const A& a) { return detail::apply_real<detail::op::erf>(a); }
// sigmoid(a) = 1 / (1 + exp(-a))
template <detail::function_operand A> constexpr auto sigmoid(const A& a) { return detail::apply_real<detail::op::sigmoid>(a); }
// relu(a) = max(a, 0), relu'(0) = 0
template <detail::function_operand A> constexpr auto relu(const A& a) { return detail::apply_real<detail::op::relu>(a); }

// comparisons give bool and have no derivative
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator==(const A& a, const B& b) { return detail::apply_binary<detail::op::eq>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator!=(const A& a, const B& b) { return detail::apply_binary<detail::op::ne>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator<(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::lt>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator<=(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::le>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator>(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::gt>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator>=(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::ge>(a, b); }

template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator&&(const A& a, const B& b) { return detail::apply_logical<detail::op::logical_and>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator||(const A& a, const B& b) { return detail::apply_logical<detail::op::logical_or>(a, b); }
template <detail::handle A> constexpr auto operator!(const A& a) {
  static_assert(detail::any_var<A> || detail::boolean<detail::value_type_t<A>>, "tapeless: logical op(a): the element type is bool");
  if constexpr (detail::any_var<A>)
    detail::require(detail::graph_of(a), a.type() == dtype::boolean, "tapeless: logical op(a): the element type is bool");
  return detail::apply_unary<detail::op::logical_not, bool>(a);
}
// clang-format on

// The same value, treated as a constant by every derivative.
template <detail::handle A> constexpr auto stop_gradient(const A& a) {
  return detail::apply_unary<detail::op::stop_gradient, detail::value_type_t<A>>(a);
}

// cast<T>(a): the elements as T. bool becomes 0 or 1; a number as bool is true but for 0. A real number is truncated to an integer; where
// that does not fit, it is the nearer end of the type, of NaN 0: also from int64 to int32, and to uint8. These have no derivative.
// From double to float and from float to bf16 it rounds to nearest even; the derivative of these casts and of those back is 1.
// Errors: a compile error between bf16 and any type but float.
template <element T, detail::handle A> constexpr auto cast(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    require(g, rounds(g[a.id()].t, dtype_of<T>),
            "tapeless: cast<T>(a): bf16 stores a float: cast to float first");
    return var{&g, unary(g, cast_op(g[a.id()].t, dtype_of<T>), a.id(), dtype_of<T>)};
  } else {
    static_assert(rounds_to<typename A::value_type, T>,
                  "tapeless: cast<T>(a): bf16 stores a float: cast to float first");
    constexpr op o = cast_op(dtype_of<typename A::value_type>, dtype_of<T>);
    return wrap<T, A::extents>(g, unary(g, o, a.id(), dtype_of<T>));
  }
}

// where(c, a, b)[i] = c[i] ? a[i] : b[i]        c: bool; a and b may be numbers. Two numbers have the result's type
template <detail::handle C, detail::operand A, detail::operand B>
constexpr auto where(const C& c, const A& a, const B& b) {
  using namespace detail;
  constexpr bool numbers = !handle<A> && !handle<B>;
  static_assert(!numbers || (same_element_type<A, B> && element<A>),
                "tapeless: where(c, a, b): a and b have one element type");
  using T = std::conditional_t<numbers, A, value_type_t<A, B>>;
  graph& g = graph_of(c);
  dtype t;
  if constexpr (numbers) t = dtype_of<T>;
  else t = dtype_among(a, b);
  const int x = lift(g, a, t), y = lift(g, b, t);
  constexpr shape sc = shape_in_type<C>(), sa = shape_in_type<A>(), sb = shape_in_type<B>();
  if constexpr (any_var<C, A, B>) {
    require(g, g[c.id()].t == dtype::boolean, "tapeless: where(c, a, b): c is a bool tensor");
    require_broadcast(g, x, y);
    require(g, broadcastable(g[c.id()].s, broadcast(g[x].s, g[y].s)),
            "tapeless: where(c, a, b): the shapes broadcast", g[c.id()].s, broadcast(g[x].s, g[y].s));
    return var{&g, where_not_zero(g, c.id(), x, y)};
  } else {
    static_assert(boolean<value_type_t<C>>, "tapeless: where(c, a, b): c is a bool tensor");
    static_assert(!(handle<A> && handle<B>) || same_element_type<value_type_t<A>, value_type_t<B>>,
                  "tapeless: where(c, a, b): a and b have one element type");
    static_assert(shapes_broadcast<sa, sb>, "tapeless: where(c, a, b): the shapes of a and b broadcast");
    if constexpr (shapes_broadcast<sa, sb>) {
      static_assert(shapes_broadcast<sc, broadcast(sa, sb)>,
                    "tapeless: where(c, a, b): the shapes broadcast");
      if constexpr (shapes_broadcast<sc, broadcast(sa, sb)>)
        return wrap<T, broadcast(sc, broadcast(sa, sb))>(g, where_not_zero(g, c.id(), x, y));
      else return basic_tensor<T, sa>{&g, x};
    } else return basic_tensor<T, sa>{&g, x};
  }
}

// ---- rules ----------------------------------------------------------------------------------------------------
namespace detail {

constexpr void pow_vjp(vjp_context& c) {
  const var a = c.x(0), b = c.x(1);
  // 0^0 gives 0 * 0^1, not 0 * 0^-1; elsewhere the exponent is b - 1, which the second derivative by b reads
  if (c.needs(0)) {
    if (c.g.is_constant(b.node))
      c.give(0, c.bar * (b * pow(a, c.g.value(b.node) == 0 ? 1.0 : c.g.value(b.node) - 1)));
    else c.give(0, c.bar * (b * pow(a, where(a == 0.0 && b == 0.0, 1.0, b - 1.0))));
  }
  // a = 0: 0^b log 0 = 0; the inner where keeps the second derivative finite
  if (c.needs(1)) c.give(1, c.bar * where(a > 0.0, c.y * log(where(a > 0.0, a, 1.0)), 0.0));
}

// clang-format off
inline constexpr op_rule elementwise_rules[] = {
  {op::neg,     "neg",     kind::elementwise, per_output<1>, aligned({zero_0}, {nonzero_0}, {operand_0}), [](vjp_context& c) { c.give(0, -c.bar); }},
  {op::square,  "square",  kind::elementwise, per_output<1>, aligned({zero_0}, {nonzero_0 | underflows}, not_linear), [](vjp_context& c) { c.give(0, c.bar * (c.x(0) * 2.0)); }},
  {op::sqrt,    "sqrt",    kind::elementwise, per_output<1>, aligned({zero_0}, {nonzero_0}, not_linear), [](vjp_context& c) { c.give(0, c.bar * (0.5 / c.y)); }},
  {op::exp,     "exp",     kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, c.bar * c.y); }},
  {op::log,     "log",     kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, c.bar / c.x(0)); }},
  {op::tanh,    "tanh",    kind::elementwise, per_output<1>, slow_function({zero_0}, {nonzero_0 | underflows}), [](vjp_context& c) { c.give(0, c.bar * (1.0 - square(c.y))); }},
  {op::erf,     "erf",     kind::elementwise, per_output<1>, slow_function({zero_0}, {nonzero_0 | underflows}), [](vjp_context& c) { c.give(0, c.bar * (2.0 * std::numbers::inv_sqrtpi * exp(-square(c.x(0))))); }},
  {op::sigmoid, "sigmoid", kind::elementwise, per_output<4>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, c.bar * (c.y * (1.0 - c.y))); }},
  {op::relu,    "relu",    kind::elementwise, per_output<1>, aligned({zero_0}, nowhere, not_linear), [](vjp_context& c) { c.give(0, where(c.y > 0.0, c.bar, 0.0)); }},
  {op::logical_not, "not", kind::elementwise, no_flops, aligned({nonzero_0}, {zero_0}, not_linear)},
  {op::copy,    "copy",    kind::elementwise, no_flops, aligned({zero_0}, {nonzero_0}, {operand_0}), [](vjp_context& c) { c.give(0, c.bar); }},
  {op::convert, "convert", kind::elementwise, no_flops, aligned({zero_0}, {nonzero_0 | underflows}, {operand_0}), [](vjp_context& c) { c.give(0, {&c.g, unary(c.g, op::convert, c.bar.node, c.g[c.v.in[0]].t)}); }},
  {op::cast,    "cast",    kind::elementwise, no_flops, aligned({zero_0}, {nonzero_0}, not_linear)},
  {op::stop_gradient, "stop_gradient", kind::elementwise, no_flops, aligned({zero_0}, {nonzero_0}, {operand_0})},
  {op::add,     "add",     kind::elementwise, per_output<1>, aligned({zero_0 | zero_1}, nowhere, {operand_0 | operand_1}), [](vjp_context& c) { c.give(0, c.bar); c.give(1, c.bar); }},
  {op::sub,     "sub",     kind::elementwise, per_output<1>, aligned({zero_0 | zero_1, maybe}, nowhere, {operand_0 | operand_1}), [](vjp_context& c) { c.give(0, c.bar); if (c.needs(1)) c.give(1, -c.bar); }},
  {op::mul,     "mul",     kind::elementwise, per_output<1>, aligned({zero_0, zero_1}, {nonzero_0 | nonzero_1 | underflows}, {operand_0, operand_1}), [](vjp_context& c) {
     if (c.needs(0)) c.give(0, c.bar * c.x(1));
     if (c.needs(1)) c.give(1, c.bar * c.x(0)); }},
  {op::div,     "div",     kind::elementwise, per_output<1>, aligned({zero_0}, {nonzero_0 | underflows}, {operand_0}), [](vjp_context& c) {
     if (c.needs(0)) c.give(0, c.bar / c.x(1));
     if (c.needs(1)) c.give(1, -(c.bar * (c.y / c.x(1)))); }},
  {op::pow,     "pow",     kind::elementwise, per_output<1>, slow_function({zero_0 | maybe}, nowhere), pow_vjp},
  {op::max,     "max",     kind::elementwise, per_output<1>, aligned({zero_0 | zero_1, zero_0 | maybe, zero_1 | maybe}, nowhere, not_linear), [](vjp_context& c) {
     if (c.needs(0)) c.give(0, where(c.x(0) >= c.x(1), c.bar, 0.0));
     if (c.needs(1)) c.give(1, where(c.x(0) >= c.x(1), 0.0, c.bar)); }},
  {op::min,     "min",     kind::elementwise, per_output<1>, aligned({zero_0 | zero_1, zero_0 | maybe, zero_1 | maybe}, nowhere, not_linear), [](vjp_context& c) {
     if (c.needs(0)) c.give(0, where(c.x(0) <= c.x(1), c.bar, 0.0));
     if (c.needs(1)) c.give(1, where(c.x(0) <= c.x(1), 0.0, c.bar)); }},
  {op::eq,      "eq",      kind::elementwise, per_output<1>, aligned({zero_0 | nonzero_1, nonzero_0 | zero_1}, {zero_0 | zero_1}, not_linear)},
  {op::ne,      "ne",      kind::elementwise, per_output<1>, aligned({zero_0 | zero_1}, {zero_0 | nonzero_1, nonzero_0 | zero_1}, not_linear)},
  {op::lt,      "lt",      kind::elementwise, per_output<1>, aligned({zero_0 | zero_1}, nowhere, not_linear)},
  {op::le,      "le",      kind::elementwise, per_output<1>, aligned(nowhere, {zero_0 | zero_1}, not_linear)},
  {op::gt,      "gt",      kind::elementwise, per_output<1>, aligned({zero_0 | zero_1}, nowhere, not_linear)},
  {op::ge,      "ge",      kind::elementwise, per_output<1>, aligned(nowhere, {zero_0 | zero_1}, not_linear)},
  {op::logical_and, "and", kind::elementwise, no_flops, aligned({zero_0, zero_1}, {nonzero_0 | nonzero_1}, not_linear)},
  {op::logical_or,  "or",  kind::elementwise, no_flops, aligned({zero_0 | zero_1}, {nonzero_0, nonzero_1}, not_linear)},
  {op::where,   "where",   kind::elementwise, no_flops, aligned({zero_1 | zero_2, zero_0 | zero_2, nonzero_0 | zero_1}, {nonzero_1 | nonzero_2, zero_0 | nonzero_2, nonzero_0 | nonzero_1},
           {operand_1 | operand_2}), [](vjp_context& c) {
     if (c.needs(1)) c.give(1, where(c.x(0), c.bar, 0.0));
     if (c.needs(2)) c.give(2, where(c.x(0), 0.0, c.bar)); }},
};
// clang-format on

} // namespace detail
} // namespace tapeless
