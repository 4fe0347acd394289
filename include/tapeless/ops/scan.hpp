// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Running ops along an axis: y[.., i, ..] is made of a[.., 0, ..] to a[.., i, ..].
//   cumsum       y_i = y_(i-1) + a_i          its transpose sums from i to the end
//   cumprod      y_i = y_(i-1) a_i
//   cummax       y_i = max(y_(i-1), a_i)      cumargmax: its place
//   linear_scan  y_i = a_i y_(i-1) + b_i      the derivatives of cumprod and of itself are linear scans from the end
// The derivative of a product divides by nothing: it is right where factors are 0. prod(a), a reduction, stands here for that.
#pragma once
#include <cstdint>
#include <type_traits>
#include "../core/tensor.hpp"
#include "../core/tree.hpp"
#include "along_axis.hpp"
#include "apply_elementwise.hpp"
#include "reduce.hpp"
#include "views.hpp"

namespace tapeless {
namespace detail {

// attr: the axis; attr2: 1 if it runs from the end
constexpr int scan(graph& g, op o, int a, int axis, bool to_end = false, int b = no_node) {
  node v;
  v.o = o;
  v.t = o == op::cumargmax ? dtype::i32 : g[a].t;
  v.in[0] = dense(g, a);
  if (b >= 0) v.in[1] = dense(g, b);
  v.attr = static_cast<std::uint64_t>(axis);
  v.attr2 = to_end ? 1 : 0;
  v.s = g[a].s;
  return g.intern(v);
}
constexpr int cumsum(graph& g, int a, int axis, bool to_end = false) {
  return scan(g, op::cumsum, a, axis, to_end);
}
constexpr int cumprod(graph& g, int a, int axis) { return scan(g, op::cumprod, a, axis); }
constexpr int cummax(graph& g, int a, int axis) { return scan(g, op::cummax, a, axis); }
constexpr int cumargmax(graph& g, int a, int axis) { return scan(g, op::cumargmax, a, axis); }
// y_i = a_i y_(i-1) + b_i, y_0 = b_0;   from the end: y_i = a_(i+1) y_(i+1) + b_i, its transpose in b
constexpr int linear_scan(graph& g, int a, int b, int axis, bool to_end = false) {
  return scan(g, op::linear_scan, a, axis, to_end, b);
}
// 0, 1, .. along the axis
constexpr int position(graph& g, int a, int axis) { return iota(g, along(g[a].s, axis)); }
// a_(i-1); where i is 0 it is anything
constexpr int previous(graph& g, int a, int axis) {
  const extent_t n = g[a].s.d[axis];
  if (n == 0) return a;
  if (is_static(n)) return pad(g, slice(g, a, axis, 0, n - 1), axis, 1, 0);
  const int back = binary(g, op::sub, iota(g, shape{1, {n}}), g.constant(1, dtype::i32));
  return gather(g, a, binary(g, op::max, back, g.constant(0, dtype::i32)), axis);
}
// a_(i-1), and `first` where i is 0
constexpr int previous(graph& g, int a, int axis, double first) {
  const int is_first = binary(g, op::eq, position(g, a, axis), g.constant(0, dtype::i32));
  return where(g, is_first, g.constant(first, g[a].t), previous(g, a, axis));
}
constexpr int running_min(graph& g, int a, int axis) {
  return in_reverse_order(g, cummax(g, in_reverse_order(g, a), axis));
}
// m + log(s), s_i = sum of exp(a_j - m_i) over j <= i, m the running maximum, held constant and finite
constexpr int running_logsumexp(graph& g, int a, int axis) {
  const dtype t = g[a].t;
  const int top = unary(g, op::stop_gradient, cummax(g, a, axis));
  const int m =
      binary(g, op::max, binary(g, op::min, top, g.constant(largest(t), t)), g.constant(-largest(t), t));
  const int decay = unary(g, op::exp, binary(g, op::sub, previous(g, m, axis), m));
  const int terms = unary(g, op::exp, binary(g, op::sub, a, m));
  return binary(g, op::add, unary(g, op::log, off_zero(g, linear_scan(g, decay, terms, axis))), top);
}

using running = int (*)(graph&, int, int);
// Y: the element type of the result; void: that of a
template <running F, int Axis, class Y = void, class A> constexpr auto apply_scan(const A& a) {
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    const int axis = axis_of(Axis, s.rank);
    if (!require(g, axis >= 0 && axis < s.rank, "tapeless: running op<axis>(a): the axis exists", s) ||
        !require(g, is_float(a.type()),
                 "tapeless: running op<axis>(a): the element type is float or double; cast<float>(a) first"))
      return var{&g, a.id()};
    return var{&g, F(g, a.id(), axis)};
  } else {
    using T = typename A::value_type;
    static_assert(axis_in_range<Axis, A::extents.rank>, "tapeless: running op<axis>(a): the axis exists");
    static_assert(floating_point<T>,
                  "tapeless: running op<axis>(a): the element type is float or double; cast<float>(a) first");
    if constexpr (axis_in_range<Axis, A::extents.rank> && floating_point<T>)
      return wrap<std::conditional_t<std::is_void_v<Y>, T, Y>, A::extents>(
          g, F(g, a.id(), axis_of(Axis, A::extents.rank)));
    else return a;
  }
}

} // namespace detail

// cumsum<axis>(a): sums of the elements up to each one along an axis
//   a: float, double or int32    result: a's shape
// Errors: compile errors. The axis exists (negative: from the end).
// Cost: one flop an element. Error of a sum of n terms: eps |sum| + n eps^2 (sum of |a|), eps half a unit in the last place.
template <int Axis, detail::handle A> constexpr auto cumsum(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    const int axis = axis_of(Axis, s.rank);
    if (!require(g, axis >= 0 && axis < s.rank, "tapeless: cumsum<axis>(a): the axis exists", s) ||
        !require(g, is_float(a.type()) || a.type() == dtype::i32,
                 "tapeless: cumsum<axis>(a): the element type is float, double or int32"))
      return var{&g, a.id()};
    return var{&g, cumsum(g, a.id(), axis)};
  } else {
    using T = typename A::value_type;
    static_assert(axis_in_range<Axis, A::extents.rank>, "tapeless: cumsum<axis>(a): the axis exists");
    static_assert(arithmetic<T>, "tapeless: cumsum<axis>(a): the element type is float, double or int32");
    if constexpr (axis_in_range<Axis, A::extents.rank> && arithmetic<T>)
      return wrap<T, A::extents>(g, cumsum(g, a.id(), axis_of(Axis, A::extents.rank)));
    else return a;
  }
}

// The results below have a's shape; a is float or double. Errors: compile errors; the axis exists.
// The same bits for any number of threads: a line is one chain from its first element on.

// cumprod<axis>(a): products of the elements up to each one. Cost: one flop an element.
template <int Axis, detail::handle A> constexpr auto cumprod(const A& a) {
  return detail::apply_scan<detail::cumprod, Axis>(a);
}
// cummax<axis>(a), cummin<axis>(a): the extreme of the elements up to each one; a NaN, once met, stays. The cotangent goes to the first
// extreme. Cost: one flop an element, cummin three.
template <int Axis, detail::handle A> constexpr auto cummax(const A& a) {
  return detail::apply_scan<detail::cummax, Axis>(a);
}
template <int Axis, detail::handle A> constexpr auto cummin(const A& a) {
  return detail::apply_scan<detail::running_min, Axis>(a);
}
// cumargmax<axis>(a): int32, the place of the first maximum of the elements up to each one, or of the first NaN. Cost: one flop an element.
template <int Axis, detail::handle A> constexpr auto cumargmax(const A& a) {
  return detail::apply_scan<detail::cumargmax, Axis, std::int32_t>(a);
}
// logcumsumexp<axis>(a) = log(cumsum<axis>(exp(a))), shifted by the running maximum so that nothing overflows; -inf as long as all
// are -inf, and these get the cotangent 0. Cost: twelve flops an element.
template <int Axis, detail::handle A> constexpr auto logcumsumexp(const A& a) {
  return detail::apply_scan<detail::running_logsumexp, Axis>(a);
}

// linear_scan<axis>(a, b): y_i = a_i y_(i-1) + b_i along the axis, y_0 = b_0; a_0 is not read, and where y_(i-1) is 0, y_i is b_i, whatever a_i is. A linear recurrence: a moving average
// with weight 1 - w is linear_scan<0>(w, (1 - w) * x); discounted returns are one from the end, between two flips.
//   a, b: float or double; they broadcast, and one may be a number    result: the broadcast shape
// Errors: compile errors. The shapes broadcast, the element types are equal, the axis exists. Cost: two flops an element.
template <int Axis, class A, class B>
  requires detail::handle_among<A, B>
constexpr auto linear_scan(const A& a, const B& b) {
  using namespace detail;
  graph& g = graph_of(a, b);
  const auto build = [&g](int x, int y, const shape& s) {
    return linear_scan(g, expand(g, x, s), expand(g, y, s), axis_of(Axis, s.rank));
  };
  using T = value_type_t<A, B>;
  const dtype t = dtype_among(a, b);
  const int x = lift(g, a, t), y = lift(g, b, t);
  if constexpr (any_var<A, B>) {
    if (!require(g, broadcastable(g[x].s, g[y].s), "tapeless: linear_scan<axis>(a, b): the shapes broadcast",
                 g[x].s, g[y].s) ||
        !require(g, g[x].t == g[y].t && is_float(t),
                 "tapeless: linear_scan<axis>(a, b): both are float, or both are double"))
      return var{&g, x};
    const shape s = broadcast(g[x].s, g[y].s);
    if (!require(g, in_range<Axis>(s.rank), "tapeless: linear_scan<axis>(a, b): the axis exists", s))
      return var{&g, x};
    return var{&g, build(x, y, s)};
  } else {
    constexpr shape sa = shape_in_type<A>(), sb = shape_in_type<B>();
    using U = std::conditional_t<number<B>, T, value_type_t<B>>;
    static_assert(shapes_broadcast<sa, sb>, "tapeless: linear_scan<axis>(a, b): the shapes broadcast");
    static_assert(floating_point<T> && same_element_type<T, U>,
                  "tapeless: linear_scan<axis>(a, b): both are float, or both are double");
    if constexpr (shapes_broadcast<sa, sb> && floating_point<T> && same_element_type<T, U>) {
      constexpr shape s = broadcast(sa, sb);
      static_assert(axis_in_range<Axis, s.rank>, "tapeless: linear_scan<axis>(a, b): the axis exists");
      if constexpr (axis_in_range<Axis, s.rank>) return wrap<T, s>(g, build(x, y, s));
      else return basic_tensor<T, sa>{&g, x};
    } else return basic_tensor<T, sa>{&g, x};
  }
}

// prod<axes...>(a), prod<axes...>(a, keepdims): products over the axes, as sum has sums; the product of no elements is 1.
// The derivative is the product of the other elements, also where some are 0.
// Cost: one flop for each element of a.
namespace detail {

constexpr int prod(graph& g, int a, unsigned axes) {
  for (int i = 0; i < g[a].s.rank; ++i)
    if (g[a].s.d[i] == 1) axes &= ~(1u << i);
  if (axes == 0) return a;
  const extent_t n = count_of(g[a].s, axes);
  const int one = g.constant(1, g[a].t);
  if (n == 0) return expand(g, one, keepdims(g[a].s, axes));
  const int y = g.intern(
      {.o = op::prod, .t = g[a].t, .in = {a, no_node, no_node}, .attr = axes, .s = keepdims(g[a].s, axes)});
  if (is_static(n)) return y;
  return where(g, binary(g, op::gt, g.extent_value(n, dtype::i32), g.constant(0, dtype::i32)), y, one);
}

} // namespace detail
// clang-format off
template <auto... Axes, detail::handle A> constexpr auto prod(const A& a) { return detail::apply_reduction<detail::prod, false, false, Axes...>(a); }
template <auto... Axes, detail::handle A> constexpr auto prod(const A& a, keepdims_t) { return detail::apply_reduction<detail::prod, true, false, Axes...>(a); }
// clang-format on

namespace detail {

// Of each element the product of the others along the axis: of those ahead, and of those behind, which is a linear scan from the end
// that begins with 1.
constexpr int product_of_others(graph& g, int a, int axis) {
  const dtype t = g[a].t;
  const int last = binary(g, op::sub, g.extent_value(g[a].s.d[axis], dtype::i32), g.constant(1, dtype::i32));
  const int is_last = binary(g, op::eq, position(g, a, axis), last);
  const int begin = expand(g, where(g, is_last, g.constant(1, t), g.constant(0, t)), g[a].s);
  return binary(g, op::mul, previous(g, cumprod(g, a, axis), axis, 1), linear_scan(g, a, begin, axis, true));
}
constexpr void prod_vjp(vjp_context& c) {
  graph& g = c.g;
  const auto axes = static_cast<unsigned>(c.v.attr);
  const shape s = c.dims(0);
  int x = c.v.in[0], d = c.bar.node;
  for (int k = 0; k < s.rank; ++k) // one axis after the other: x is what the axes before have made of it
    if (((axes >> k) & 1u) != 0) {
      d = binary(g, op::mul, d, product_of_others(g, x, k));
      x = prod(g, x, 1u << k);
    }
  c.give(0, {&g, d});
}
constexpr void cumprod_vjp(vjp_context& c) {
  const int axis = static_cast<int>(c.v.attr), total = linear_scan(c.g, c.v.in[0], c.bar.node, axis, true);
  c.give(0, {&c.g, binary(c.g, op::mul, total, previous(c.g, c.y.node, axis, 1))});
}
constexpr void cummax_vjp(vjp_context& c) {
  const int axis = static_cast<int>(c.v.attr), place = cumargmax(c.g, c.v.in[0], axis);
  c.give(0, {&c.g, scatter_along(c.g, c.dims(0), place, c.bar.node, axis)});
}
constexpr void linear_scan_vjp(vjp_context& c) {
  const int axis = static_cast<int>(c.v.attr);
  const bool to_end = c.v.attr2 != 0;
  const int total = linear_scan(c.g, c.v.in[0], c.bar.node, axis, !to_end);
  if (c.needs(0)) {
    const int ahead = previous(c.g, to_end ? total : c.y.node, axis, 0);
    c.give(0, {&c.g, binary(c.g, op::mul, to_end ? c.y.node : total, ahead)});
  }
  c.give(1, {&c.g, total});
}

// clang-format off
inline constexpr op_rule scan_rules[] = {
  {op::cumsum, "cumsum", kind::kernel, per_output<1>, {.axes = axes_but_one, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = {operand_0}, .attr = attr_names::axis, .adds = true}, [](vjp_context& c) {
     c.give(0, {&c.g, cumsum(c.g, c.bar.node, static_cast<int>(c.v.attr), c.v.attr2 == 0)}); }},
  {op::cumprod, "cumprod", kind::kernel, per_output<1>, {.axes = axes_but_one, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = not_linear, .attr = attr_names::axis}, cumprod_vjp},
  {op::cummax, "cummax", kind::kernel, per_output<1>, {.axes = axes_but_one, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = not_linear, .attr = attr_names::axis}, cummax_vjp},
  {op::cumargmax, "cumargmax", kind::kernel, per_output<1>, {.axes = axes_but_one, .sums = no_sums, .zero = nowhere, .nonzero = nowhere, .linear = not_linear, .attr = attr_names::axis}},
  {op::linear_scan, "linear_scan", kind::kernel, per_output<2>, {.axes = axes_but_one, .sums = no_sums, .zero = {zero_1}, .nonzero = nowhere, .linear = {operand_1}, .attr = attr_names::axis}, linear_scan_vjp},
  {op::prod, "prod", kind::reduction, per_input<1>, {.axes = axes_but_those, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = not_linear, .attr = attr_names::axes}, prod_vjp},
};
// clang-format on

} // namespace detail
} // namespace tapeless
