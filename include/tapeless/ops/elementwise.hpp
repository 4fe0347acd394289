// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// y[i] = f(a[i], b[i], c[i])      operands broadcast as in NumPy      y: the broadcast shape
//
// Subgradients: relu'(0) = 0; max and min give the cotangent of a tie to the first operand; where gives nothing, not
// even a NaN, to the branch that is not taken (plan/rewrite/guard_unread.hpp).
#pragma once
#include <numbers>
#include "../core/tensor.hpp"
#include "../core/tree.hpp"
#include "zero.hpp" // IWYU pragma: export

namespace tapeless {
namespace detail {

// ---- builders: graph and node numbers -------------------------------------------------------------------------

// a repeated along its broadcast axes; read through by its consumers
constexpr int expand(graph& g, int a, shape s) {
  if (g[a].s == s) return a;
  if (g[a].o == op::expand) a = g[a].in[0];
  if (g[a].s == s) return a;
  node v;
  v.o = op::expand;
  v.t = g[a].t;
  v.in[0] = a;
  v.s = s;
  return g.intern(v);
}
constexpr int zeros(graph& g, dtype t, shape s) { return expand(g, g.constant(0, t), s); }

constexpr int where(graph& g, int c, int a, int b);
// where(c, d, 0) of w, or where(c, 0, d): k is branch_beside_zero of w
constexpr int with_branch(graph& g, const node& w, int k, int d) {
  return k == 1 ? where(g, w.in[0], d, w.in[2]) : where(g, w.in[0], w.in[1], d);
}

constexpr int unary(graph& g, op o, int a, dtype result) {
  if (g.is_konst(a)) {
    const double x = g.value(a);
    if (o == op::neg) return g.constant(-x, result);
    if (o == op::square) return g.constant(x * x, result);
    if (o == op::cast && is_float(result)) return g.constant(x, result);
  }
  if (g[a].o == op::expand) return expand(g, unary(g, o, g[a].in[0], result), g[a].s);
  if (o == op::neg && g[a].o == op::neg) return g[a].in[0];
  if (const int k = o == op::neg && g.in_adjoint ? branch_beside_zero(g, a) : 0; k > 0) { // as in binary
    const node w = g[a];
    return expand(g, with_branch(g, w, k, unary(g, op::neg, w.in[k], result)), w.s);
  }
  if (o == op::cast && g[a].t == result) return a;
  if (o == op::narrow && g[a].o == op::widen) return g[a].in[0];
  node v;
  v.o = o;
  v.t = result;
  v.in[0] = a;
  v.s = g[a].s;
  return g.intern(v);
}
constexpr int unary(graph& g, op o, int a) { return unary(g, o, a, g[a].t); }

constexpr bool commutes(op o) { return o == op::add || o == op::mul || o == op::eq || o == op::ne; }

constexpr int where(graph& g, int c, int a, int b) {
  const shape full = broadcast(g[c].s, broadcast(g[a].s, g[b].s));
  if (a == b) return expand(g, a, full);
  if (g.is_konst(unexpanded(g, c))) return expand(g, g.value(unexpanded(g, c)) != 0 ? a : b, full);
  c = unexpanded(g, c);
  a = unexpanded(g, a);
  b = unexpanded(g, b);
  const shape s = broadcast(g[c].s, broadcast(g[a].s, g[b].s));
  node v;
  v.o = op::where;
  v.t = g[a].t;
  v.in[0] = c;
  v.in[1] = a;
  v.in[2] = b;
  v.s = s;
  return expand(g, g.intern(v), full);
}

constexpr int logsumexp(graph& g, int a, unsigned axes); // of reduce.hpp
constexpr int log_softmax(graph& g, int a, unsigned axes);
// a - logsumexp(a) is log_softmax(a): far from 0 the difference costs all digits. no_node where b is another node.
constexpr int minus_logsumexp(graph& g, int a, int b) {
  if (g[b].o != op::add || g[g[b].in[0]].o != op::stop_gradient) return no_node;
  const node top = g[g[g[b].in[0]].in[0]];
  if (top.o != op::max_reduce || top.in[0] != a) return no_node;
  const auto axes = static_cast<unsigned>(top.attr);
  return logsumexp(g, a, axes) == b ? log_softmax(g, a, axes) : no_node;
}

constexpr int binary(graph& g, op o, int a, int b) {
  const shape full = broadcast(g[a].s, g[b].s);
  a = unexpanded(g, a);
  b = unexpanded(g, b);
  const shape s = broadcast(g[a].s, g[b].s);
  if (!(s == full)) return expand(g, binary(g, o, a, b), full);
  const dtype t = g[a].t, result = compares(o) ? dtype::boolean : t;
  if (g.is_konst(a) && g.is_konst(b)) {
    const double x = g.value(a), y = g.value(b);
    if (o == op::add) return g.constant(x + y, t);
    if (o == op::sub) return g.constant(x - y, t);
    if (o == op::mul) return g.constant(x * y, t);
    if (o == op::div && y != 0) return g.constant(x / y, t);
  }
  if ((o == op::mul && g.is(a, 1)) || (o == op::add && g.is(a, 0))) return expand(g, b, s);
  if (((o == op::mul || o == op::div) && g.is(b, 1)) || ((o == op::add || o == op::sub) && g.is(b, 0)))
    return expand(g, a, s);
  if (o == op::sub && g.is(a, 0)) return unary(g, op::neg, expand(g, b, s));
  if (g.in_adjoint && (o == op::mul || o == op::div)) {
    // A cotangent that a select made zero stays exactly zero, whatever the factor is (also inf and NaN):
    // where(c, d, 0) * z = where(c, d * z, 0).
    if (g.is(a, 0) || (o == op::mul && g.is(b, 0))) return zeros(g, t, s);
    for (const bool left : {true, false}) {
      const int x = left ? a : b, z = left ? b : a, k = branch_beside_zero(g, x);
      if (k == 0 || (!left && o == op::div)) continue;
      const node w = g[x];
      const int d = left ? binary(g, o, w.in[k], z) : binary(g, o, z, w.in[k]);
      return expand(g, with_branch(g, w, k, d), s);
    }
  }
  if (const int k = g.in_adjoint && (o == op::add || o == op::sub) ? branch_beside_zero(g, a) : 0;
      k > 0 && k == branch_beside_zero(g, b) && g[a].in[0] == g[b].in[0]) {
    // where(c, d, 0) + where(c, e, 0) = where(c, d + e, 0)
    const node w = g[a];
    return expand(g, with_branch(g, w, k, binary(g, o, w.in[k], g[b].in[k])), s);
  }
  if (const int difference = o == op::sub ? minus_logsumexp(g, a, b) : no_node; difference >= 0)
    return difference;
  if (commutes(o) && a > b) {
    const int k = a;
    a = b;
    b = k;
  }
  node v;
  v.o = o;
  v.t = result;
  v.in[0] = a;
  v.in[1] = b;
  v.s = s;
  return g.intern(v);
}

// ---- rules for values, checked where the handles are typed ----------------------------------------------------

template <shape A, shape B>
concept shapes_broadcast = broadcastable(A, B);
template <class A, class B>
concept same_element_type = std::is_same_v<A, B>;
template <class T>
concept floating_point = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
concept arithmetic = floating_point<T> || std::is_same_v<T, std::int32_t>;
template <class From, class To>
concept casts_to = !(floating_point<From> && floating_point<To>) || std::is_same_v<From, To>;
template <class T>
concept for_storage = std::is_same_v<T, bf16>;
template <class T>
concept computes = !for_storage<T>;
template <class From, class To>
concept rounds_to = std::is_same_v<From, To> || (!for_storage<From> && !for_storage<To>) ||
                    std::is_same_v<From, float> || std::is_same_v<To, float>;
constexpr bool rounds(dtype from, dtype to) {
  return from == to || (from != dtype::bf16 && to != dtype::bf16) || from == dtype::f32 || to == dtype::f32;
}
constexpr op cast_op(dtype from, dtype to) {
  return from == to ? op::cast : to == dtype::bf16 ? op::narrow : from == dtype::bf16 ? op::widen : op::cast;
}
template <class T>
concept boolean = std::is_same_v<T, bool>;

// Is one of them images (n, c, ..), and the other (c)?
constexpr bool bias_without_channel(const shape& a, const shape& b) {
  const shape &x = a.rank > b.rank ? a : b, &y = a.rank > b.rank ? b : a;
  return x.rank >= 3 && y.rank == 1 && x.d[1] == y.d[0];
}
template <shape A, shape B>
concept bias_meets_channels = broadcastable(A, B) || !bias_without_channel(A, B);

constexpr void require_broadcast(graph& g, int a, int b) {
  if (!broadcastable(g[a].s, g[b].s))
    require(
        g, !bias_without_channel(g[a].s, g[b].s),
        "tapeless: elementwise op(a, b): the shapes broadcast; the bias of the channels of images is tl::channel(b)",
        g[a].s, g[b].s);
  require(g, broadcastable(g[a].s, g[b].s), "tapeless: elementwise op(a, b): the shapes broadcast", g[a].s,
          g[b].s);
  require(g, g[a].t == g[b].t, "tapeless: elementwise op(a, b): both have one element type; cast one first");
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
  static_assert(any_var<A, B> || computes<value_type_t<A, B>>,
                "tapeless: op(a): bf16 is for storage; cast<float>(a) first");
  static_assert(
      any_var<A, B> || arithmetic<value_type_t<A, B>>,
      "tapeless: arithmetic op(a, b): the element type is float, double or int32; cast a mask first");
  if constexpr (any_var<A, B>)
    require(graph_of(a, b), dtype_among(a, b) != dtype::boolean,
            "tapeless: arithmetic op(a, b): the element type is float, double or int32; cast a mask first");
  return apply_binary<O>(a, b);
}
template <op O, class A, class B> constexpr auto apply_real(const A& a, const B& b) {
  static_assert(any_var<A, B> || computes<value_type_t<A, B>>,
                "tapeless: op(a): bf16 is for storage; cast<float>(a) first");
  static_assert(any_var<A, B> || floating_point<value_type_t<A, B>>,
                "tapeless: real op(a, b): the element type is float or double");
  if constexpr (any_var<A, B>)
    require(graph_of(a, b), is_float(dtype_among(a, b)),
            "tapeless: real op(a, b): the element type is float or double");
  return apply_binary<O>(a, b);
}
template <op O, class A> constexpr auto apply_real(const A& a) {
  using T = value_type_t<A>;
  static_assert(any_var<A> || computes<T>, "tapeless: op(a): bf16 is for storage; cast<float>(a) first");
  static_assert(any_var<A> || floating_point<T>, "tapeless: real op(a): the element type is float or double");
  if constexpr (any_var<A>)
    require(graph_of(a), is_float(a.type()), "tapeless: real op(a): the element type is float or double");
  return apply_unary<O, T>(a);
}
template <op O, class A> constexpr auto apply_arithmetic(const A& a) {
  using T = value_type_t<A>;
  static_assert(any_var<A> || computes<T>, "tapeless: op(a): bf16 is for storage; cast<float>(a) first");
  static_assert(any_var<A> || arithmetic<T>,
                "tapeless: arithmetic op(a): the element type is float, double or int32");
  if constexpr (any_var<A>)
    require(graph_of(a), a.type() != dtype::boolean,
            "tapeless: arithmetic op(a): the element type is float, double or int32");
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
concept all_numbers = number<A> && number<B>;
template <class A, class B>
concept handle_among = operand<A> && operand<B> && (handle<A> || handle<B>);
template <class A>
concept mutable_handle = handle<A> && !std::is_const_v<A>;
template <class A, class B> // not whether A has an assignment: it has one for its message
concept result_fits = std::is_convertible_v<const B&, A>;

template <class A, class B> constexpr A& assign(A& a, const B& b) {
  static_assert(result_fits<A, B>,
                "tapeless: a += b: a + b has the type and extents of a; a tl::var takes any, so for - * /");
  if constexpr (result_fits<A, B>) a = b;
  return a;
}

} // namespace detail

// ---- what the user writes -------------------------------------------------------------------------------------
// Shapes: the operands broadcast; a number beside a tensor has the tensor's element type.
// Errors: compile errors. The shapes broadcast; all operands have one element type, which the op takes:
//   + - * neg square max min < <= > >=         float, double, int32        == !=      any
//   / pow sqrt exp log tanh erf sigmoid relu   float, double               && || !    bool
// Cost: one flop an element of the result, sigmoid four; && || ! where, cast and stop_gradient none.
// clang-format off

// a + b, a - b, a * b, a / b    (+ - * also for int32)
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator+(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::add>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator-(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::sub>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator*(const A& a, const B& b) { return detail::apply_arithmetic<detail::op::mul>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator/(const A& a, const B& b) { return detail::apply_real<detail::op::div>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator%(const A& a, const B& b) {
  static_assert(detail::all_numbers<A, B>, "tapeless: a % b: there is no such op; write it as tl::custom<op>(a, b)");
  if constexpr (detail::handle<A>) return a;
  else return b;
}
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

template <detail::handle A> constexpr auto square(const A& a) { return detail::apply_arithmetic<detail::op::square>(a); }
template <detail::handle A> constexpr auto sqrt(const A& a) { return detail::apply_real<detail::op::sqrt>(a); }
template <detail::handle A> constexpr auto exp(const A& a) { return detail::apply_real<detail::op::exp>(a); }
template <detail::handle A> constexpr auto log(const A& a) { return detail::apply_real<detail::op::log>(a); }
template <detail::handle A> constexpr auto tanh(const A& a) { return detail::apply_real<detail::op::tanh>(a); }
// erf(a) = 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to a
template <detail::handle A> constexpr auto erf(const A& a) { return detail::apply_real<detail::op::erf>(a); }
// sigmoid(a) = 1 / (1 + exp(-a))
template <detail::handle A> constexpr auto sigmoid(const A& a) { return detail::apply_real<detail::op::sigmoid>(a); }
// relu(a) = max(a, 0), relu'(0) = 0
template <detail::handle A> constexpr auto relu(const A& a) { return detail::apply_real<detail::op::relu>(a); }

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

// cast<T>(a): the elements as T. bool becomes 0 or 1, a float is truncated to int32; no derivative.
// To bf16 a float is rounded to the nearest, a tie to the even one; the derivative of this and of the way back is 1.
// Errors: a compile error from float to double or back, and between bf16 and any type but float.
template <element T, detail::handle A> constexpr auto cast(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    require(g, !is_float(dtype_of<T>) || !is_float(g[a.id()].t) || g[a.id()].t == dtype_of<T>,
            "tapeless: cast<T>(a): float and double do not mix in one program");
    require(g, rounds(g[a.id()].t, dtype_of<T>),
            "tapeless: cast<T>(a): bf16 stores a float: cast to float first");
    return var{&g, unary(g, cast_op(g[a.id()].t, dtype_of<T>), a.id(), dtype_of<T>)};
  } else {
    static_assert(casts_to<typename A::value_type, T>,
                  "tapeless: cast<T>(a): float and double do not mix in one program");
    static_assert(rounds_to<typename A::value_type, T>,
                  "tapeless: cast<T>(a): bf16 stores a float: cast to float first");
    constexpr op o = cast_op(dtype_of<typename A::value_type>, dtype_of<T>);
    return wrap<T, A::extents>(g, unary(g, o, a.id(), dtype_of<T>));
  }
}

namespace detail {
constexpr int negated(graph& g, int c) {
  const node v = g[c];
  if (v.o == op::logical_not) return v.in[0];
  if (v.o == op::eq || v.o == op::ne) return binary(g, v.o == op::eq ? op::ne : op::eq, v.in[0], v.in[1]);
  return unary(g, op::logical_not, c);
}
// where(c, 0, b) = where(!c, b, 0): a condition that leaves rows out is a mask, whichever way it is written.
constexpr int where_not_zero(graph& g, int c, int a, int b) {
  if (!g.is(unexpanded(g, a), 0) || g.is(unexpanded(g, b), 0)) return where(g, c, a, b);
  return where(g, expand(g, negated(g, unexpanded(g, c)), g[c].s), b, a);
}
} // namespace detail

// where(c, a, b)[i] = c[i] ? a[i] : b[i]        c: bool; a and b may be numbers: two have the element type of the result
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
  // 0^0 gives 0 * 0^1, not 0 * 0^-1; elsewhere the exponent stays b - 1, which the second derivative by b reads
  if (c.needs(0)) {
    if (c.g.is_konst(b.node))
      c.give(0, c.bar * (b * pow(a, c.g.value(b.node) == 0 ? 1.0 : c.g.value(b.node) - 1)));
    else c.give(0, c.bar * (b * pow(a, where(a == 0.0 && b == 0.0, 1.0, b - 1.0))));
  }
  // a = 0: 0^b log 0 = 0; the inner where keeps the second derivative finite
  if (c.needs(1)) c.give(1, c.bar * where(a > 0.0, c.y * log(where(a > 0.0, a, 1.0)), 0.0));
}

// clang-format off
inline constexpr op_rule elementwise_rules[] = {
  {op::neg,     "neg",     kind::elementwise, per_output<1>, [](vjp_context& c) { c.give(0, -c.bar); }},
  {op::square,  "square",  kind::elementwise, per_output<1>, [](vjp_context& c) { c.give(0, c.bar * (c.x(0) * 2.0)); }},
  {op::sqrt,    "sqrt",    kind::elementwise, per_output<1>, [](vjp_context& c) { c.give(0, c.bar * (0.5 / c.y)); }},
  {op::exp,     "exp",     kind::elementwise, per_output<1>, [](vjp_context& c) { c.give(0, c.bar * c.y); }},
  {op::log,     "log",     kind::elementwise, per_output<1>, [](vjp_context& c) { c.give(0, c.bar / c.x(0)); }},
  {op::tanh,    "tanh",    kind::elementwise, per_output<1>, [](vjp_context& c) { c.give(0, c.bar * (1.0 - square(c.y))); }},
  {op::erf,     "erf",     kind::elementwise, per_output<1>, [](vjp_context& c) { c.give(0, c.bar * (2.0 * std::numbers::inv_sqrtpi * exp(-square(c.x(0))))); }},
  {op::sigmoid, "sigmoid", kind::elementwise, per_output<4>, [](vjp_context& c) { c.give(0, c.bar * (c.y * (1.0 - c.y))); }},
  {op::relu,    "relu",    kind::elementwise, per_output<1>, [](vjp_context& c) { c.give(0, where(c.y > 0.0, c.bar, 0.0)); }},
  {op::logical_not, "not", kind::elementwise, no_flops},
  {op::copy,    "copy",    kind::elementwise, no_flops,      [](vjp_context& c) { c.give(0, c.bar); }},
  {op::cast,    "cast",    kind::elementwise, no_flops},
  {op::stop_gradient, "stop_gradient", kind::elementwise, no_flops},
  {op::add,     "add",     kind::elementwise, per_output<1>, [](vjp_context& c) { c.give(0, c.bar); c.give(1, c.bar); }},
  {op::sub,     "sub",     kind::elementwise, per_output<1>, [](vjp_context& c) { c.give(0, c.bar); if (c.needs(1)) c.give(1, -c.bar); }},
  {op::mul,     "mul",     kind::elementwise, per_output<1>, [](vjp_context& c) {
     if (c.needs(0)) c.give(0, c.bar * c.x(1));
     if (c.needs(1)) c.give(1, c.bar * c.x(0)); }},
  {op::div,     "div",     kind::elementwise, per_output<1>, [](vjp_context& c) {
     if (c.needs(0)) c.give(0, c.bar / c.x(1));
     if (c.needs(1)) c.give(1, -(c.bar * (c.y / c.x(1)))); }},
  {op::pow,     "pow",     kind::elementwise, per_output<1>, pow_vjp},
  {op::max,     "max",     kind::elementwise, per_output<1>, [](vjp_context& c) {
     if (c.needs(0)) c.give(0, where(c.x(0) >= c.x(1), c.bar, 0.0));
     if (c.needs(1)) c.give(1, where(c.x(0) >= c.x(1), 0.0, c.bar)); }},
  {op::min,     "min",     kind::elementwise, per_output<1>, [](vjp_context& c) {
     if (c.needs(0)) c.give(0, where(c.x(0) <= c.x(1), c.bar, 0.0));
     if (c.needs(1)) c.give(1, where(c.x(0) <= c.x(1), 0.0, c.bar)); }},
  {op::eq,      "eq",      kind::elementwise, per_output<1>},
  {op::ne,      "ne",      kind::elementwise, per_output<1>},
  {op::lt,      "lt",      kind::elementwise, per_output<1>},
  {op::le,      "le",      kind::elementwise, per_output<1>},
  {op::gt,      "gt",      kind::elementwise, per_output<1>},
  {op::ge,      "ge",      kind::elementwise, per_output<1>},
  {op::logical_and, "and", kind::elementwise, no_flops},
  {op::logical_or,  "or",  kind::elementwise, no_flops},
  {op::where,   "where",   kind::elementwise, no_flops, [](vjp_context& c) {
     if (c.needs(1)) c.give(1, where(c.x(0), c.bar, 0.0));
     if (c.needs(2)) c.give(2, where(c.x(0), 0.0, c.bar)); }},
};
// clang-format on

} // namespace detail
} // namespace tapeless
