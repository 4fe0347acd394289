// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// y = sum<axes...>(x), mean, max, min, logsumexp, any, all       all axes if none is given; negative axes count from the end
// sum<1>(x, keepdims) keeps the axes with extent 1. masked.hpp has those over the elements of a mask.
// vjp: x_bar += y_bar repeated (sum); max and min give y_bar to the first of equal ones.
#pragma once
#include <limits>
#include "argmax.hpp" // IWYU pragma: export
#include "index.hpp"  // IWYU pragma: export

namespace tapeless {

namespace detail {

// Sum over the axes of the mask, which keep extent 1. A sum of a sum is one sum. A sum over a repeated axis is the
// product with its extent, and 0 if that is 0, whatever was repeated.
constexpr int sum(graph& g, int a, unsigned axes) {
  const shape s = g[a].s;
  for (int i = 0; i < s.rank; ++i)
    if (s.d[i] == 1) axes &= ~(1u << i);
  if (axes == 0) return a;
  if (g[a].o == op::sum) return sum(g, g[a].in[0], axes | static_cast<unsigned>(g[a].attr));
  if (g[a].o == op::expand || g.is_constant(a)) {
    // a repeated axis is a factor, not a sum
    const int inner = g[a].o == op::expand ? g[a].in[0] : a;
    const shape q = g[inner].s;
    extent_t factor = 1;
    unsigned rest = 0;
    for (int i = 0; i < s.rank; ++i) {
      if (!((axes >> i) & 1u)) continue;
      const int k = i - (s.rank - q.rank);
      if (k < 0 || q.d[k] == 1) factor = times(factor, s.d[i]);
      else rest |= 1u << k;
    }
    if (factor == 0) return zeros(g, g[a].t, keepdims(s, axes));
    if (factor != 1) {
      const int part = sum(g, inner, rest), n = g.extent_value(factor, g[a].t), zero = g.constant(0, g[a].t);
      const bool finite = g.is_constant(part) && g.value(part) - g.value(part) == 0;
      const int product = binary(g, op::mul, part, n);
      return expand(
          g, is_static(factor) || finite ? product : where(g, binary(g, op::gt, n, zero), product, zero),
          keepdims(s, axes));
    }
  }
  return g.intern(
      {.o = op::sum, .t = g[a].t, .in = {a, no_node, no_node}, .attr = axes, .s = keepdims(s, axes)});
}
// The transpose of broadcasting: a summed down to shape s.   @pre broadcast(s, g[a].s) == g[a].s
constexpr int sum_to(graph& g, int a, shape s) {
  const shape from = g[a].s;
  if (from == s) return a;
  unsigned axes = 0;
  for (int i = 0; i < from.rank; ++i) {
    const int k = i - (from.rank - s.rank);
    if (k < 0 || (s.d[k] == 1 && from.d[i] != 1)) axes |= 1u << i;
  }
  return reshape(g, sum(g, a, axes), s);
}
constexpr int max_reduce(graph& g, int a, unsigned axes) {
  return g.intern({.o = op::max_reduce,
                   .t = g[a].t,
                   .in = {a, no_node, no_node},
                   .attr = axes,
                   .s = keepdims(g[a].s, axes)});
}
constexpr int min_reduce(graph& g, int a, unsigned axes) {
  return unary(g, op::neg, max_reduce(g, unary(g, op::neg, a), axes));
}
constexpr extent_t count_of(const shape& s, unsigned axes) {
  extent_t n = 1;
  for (int i = 0; i < s.rank; ++i)
    if ((axes >> i) & 1u) n = times(n, s.d[i]);
  return n;
}
constexpr int mean(graph& g, int a, unsigned axes) {
  const extent_t n = count_of(g[a].s, axes);
  return binary(g, op::div, sum(g, a, axes), g.extent_value(n, g[a].t));
}
// The largest finite number of a type; and a number that added to 1 gives 1, but whose powers are far from 0.
constexpr double largest(dtype t) {
  return t == dtype::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
}
constexpr double beside_one(dtype t) { return t == dtype::f32 ? 0x1p-26 : 0x1p-56; }

// exp(a - m) and its sum; m is the maximum, held constant and finite. The sum is at least 1, or 0 if all are -inf.
struct exponentials {
  int top;             // the maximum, held constant
  int shifted, e, sum; // a - m, exp(a - m)
};
constexpr exponentials exponentials_of(graph& g, int a, unsigned axes) {
  const dtype t = g[a].t;
  const int top = unary(g, op::stop_gradient, max_reduce(g, a, axes));
  const int m =
      binary(g, op::max, binary(g, op::min, top, g.constant(largest(t), t)), g.constant(-largest(t), t));
  const int shifted = binary(g, op::sub, a, m), e = unary(g, op::exp, shifted);
  return {top, shifted, e, sum(g, e, axes)};
}
// a, but not 0: where a is 0, 0 divided by it is 0
constexpr int off_zero(graph& g, int a) {
  return binary(g, op::add, a, g.constant(beside_one(g[a].t), g[a].t));
}

// -inf if all are -inf; then no cotangent passes
constexpr int logsumexp(graph& g, int a, unsigned axes) {
  const exponentials q = exponentials_of(g, a, axes);
  return binary(g, op::add, unary(g, op::log, off_zero(g, q.sum)), q.top);
}
constexpr int log_softmax(graph& g, int a, unsigned axes) {
  const exponentials q = exponentials_of(g, a, axes);
  return binary(g, op::sub, q.shifted, unary(g, op::log, q.sum));
}
// exp(a - m) * (1 / sum(exp(a - m))): one division for each sum
template <bool MaskedRowsZero> constexpr int softmax(graph& g, int a, unsigned axes) {
  const exponentials q = exponentials_of(g, a, axes);
  const int total = MaskedRowsZero ? off_zero(g, q.sum) : q.sum;
  return binary(g, op::mul, q.e, binary(g, op::div, g.constant(1, g[a].t), total));
}

// F(graph, a, axes, further...)
template <auto F, bool Keep, bool NotEmpty, auto... Axes, class A, class... Further>
constexpr auto apply_reduction(const A& a, Further... further) {
  static_assert(
      no_axis_is_bool<decltype(Axes)...>,
      "tapeless: reduction<axes...>(a): an axis is a number; to keep the axes, tl::keepdims stands behind a");
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    require(
        g, is_float(g[a.id()].t),
        "tapeless: reduction<axes...>(a): the element type is float or double; of a mask or int32 it is that of cast<float>(a)");
    require(g, in_range<Axes...>(s.rank), "tapeless: reduction<axes...>(a): the axes exist", s);
    if (!g.sound()) return var{&g, a.id()};
    require(g, named_once<Axes...>(s.rank), "tapeless: reduction<axes...>(a): no axis is named twice", s);
    const unsigned axes = axes_mask<Axes...>(s.rank);
    require(g, !NotEmpty || count_of(s, axes) != 0,
            "tapeless: max<axes...>(a), min<axes...>(a), logsumexp<axes...>(a): the axes are not empty", s);
    if (!g.sound()) return var{&g, a.id()};
    const int r = F(g, a.id(), axes, further...);
    return var{&g, Keep ? r : reshape(g, r, dropped(s, axes))};
  } else {
    using T = typename A::value_type;
    constexpr int rank = A::extents.rank;
    static_assert(
        floating_point<T>,
        "tapeless: reduction<axes...>(a): the element type is float or double; of a mask or int32 it is that of cast<float>(a)");
    static_assert(axes_exist<rank, Axes...>, "tapeless: reduction<axes...>(a): the axes exist");
    if constexpr (axes_exist<rank, Axes...> && floating_point<T>) {
      static_assert(axes_differ<rank, Axes...>, "tapeless: reduction<axes...>(a): no axis is named twice");
      constexpr unsigned axes = axes_mask<Axes...>(rank);
      static_assert(
          !NotEmpty || axes_not_empty<A::extents, axes>,
          "tapeless: max<axes...>(a), min<axes...>(a), logsumexp<axes...>(a): the axes are not empty");
      constexpr shape s = Keep ? keepdims(A::extents, axes) : dropped(A::extents, axes);
      return wrap<T, s>(g, reshape(g, F(g, a.id(), axes, further...), s));
    } else return a;
  }
}

// Is one of the bools true? all: are all of them? Of bools that are 0 or 1, a sum above 0 is exact.
constexpr int count_true(graph& g, int a, unsigned axes) {
  return sum(g, unary(g, op::cast, a, dtype::f32), axes);
}
constexpr int any(graph& g, int a, unsigned axes) {
  return binary(g, op::ne, count_true(g, a, axes), g.constant(0, dtype::f32));
}
constexpr int all(graph& g, int a, unsigned axes) {
  return binary(g, op::eq, count_true(g, negated(g, a), axes), g.constant(0, dtype::f32));
}
template <auto F, bool Keep, auto... Axes, class A> constexpr auto reduce_mask(const A& a) {
  static_assert(
      no_axis_is_bool<decltype(Axes)...>,
      "tapeless: reduction<axes...>(a): an axis is a number; to keep the axes, tl::keepdims stands behind a");
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    if (!require(g, g[a.id()].t == dtype::boolean,
                 "tapeless: any<axes...>(a), all<axes...>(a): the element type is bool") ||
        !require(g, in_range<Axes...>(s.rank), "tapeless: reduction<axes...>(a): the axes exist", s) ||
        !require(g, named_once<Axes...>(s.rank), "tapeless: reduction<axes...>(a): no axis is named twice",
                 s))
      return var{&g, a.id()};
    const unsigned axes = axes_mask<Axes...>(s.rank);
    return var{&g, reshape(g, F(g, a.id(), axes), Keep ? keepdims(s, axes) : dropped(s, axes))};
  } else {
    constexpr int rank = A::extents.rank;
    static_assert(boolean<typename A::value_type>,
                  "tapeless: any<axes...>(a), all<axes...>(a): the element type is bool");
    static_assert(axes_exist<rank, Axes...>, "tapeless: reduction<axes...>(a): the axes exist");
    if constexpr (axes_exist<rank, Axes...> && boolean<typename A::value_type>) {
      static_assert(axes_differ<rank, Axes...>, "tapeless: reduction<axes...>(a): no axis is named twice");
      constexpr unsigned axes = axes_mask<Axes...>(rank);
      constexpr shape s = Keep ? keepdims(A::extents, axes) : dropped(A::extents, axes);
      return wrap<bool, s>(g, reshape(g, F(g, a.id(), axes), s));
    } else return a;
  }
}

} // namespace detail

// y = reduction<axes...>(a), over the named axes, or all if none is named; a negative axis counts from the end.
// Shapes: the axes vanish; with keepdims they keep extent 1. a is float or double.
// Errors: compile errors. Each axis exists and is named once.
// Cost: a reduction ends a fused loop. sum and max: one flop for each element of a; mean one more for each element of
// y; min two and one; logsumexp four for each element of a and five for each element of y.

// clang-format off
// sum<axes...>(a); the sum of no elements is 0
template <auto... Axes, detail::handle A> constexpr auto sum(const A& a) { return detail::apply_reduction<detail::sum, false, false, Axes...>(a); }
template <auto... Axes, detail::handle A> constexpr auto sum(const A& a, keepdims_t) { return detail::apply_reduction<detail::sum, true, false, Axes...>(a); }
// mean<axes...>(a) = sum / count; NaN if the count is 0
template <auto... Axes, detail::handle A> constexpr auto mean(const A& a) { return detail::apply_reduction<detail::mean, false, false, Axes...>(a); }
template <auto... Axes, detail::handle A> constexpr auto mean(const A& a, keepdims_t) { return detail::apply_reduction<detail::mean, true, false, Axes...>(a); }
// max<axes...>(a): the axes may not be empty (at run time an exception); a NaN is the maximum
template <auto... Axes, detail::handle A> constexpr auto max(const A& a) { return detail::apply_reduction<detail::max_reduce, false, true, Axes...>(a); }
template <auto... Axes, detail::handle A> constexpr auto max(const A& a, keepdims_t) { return detail::apply_reduction<detail::max_reduce, true, true, Axes...>(a); }
// min<axes...>(a) = -max<axes...>(-a)
template <auto... Axes, detail::handle A> constexpr auto min(const A& a) { return detail::apply_reduction<detail::min_reduce, false, true, Axes...>(a); }
template <auto... Axes, detail::handle A> constexpr auto min(const A& a, keepdims_t) { return detail::apply_reduction<detail::min_reduce, true, true, Axes...>(a); }
// logsumexp<axes...>(a) = log(sum(exp(a))), shifted by the maximum so that nothing overflows; the axes as for max
template <auto... Axes, detail::handle A> constexpr auto logsumexp(const A& a) { return detail::apply_reduction<detail::logsumexp, false, true, Axes...>(a); }
template <auto... Axes, detail::handle A> constexpr auto logsumexp(const A& a, keepdims_t) { return detail::apply_reduction<detail::logsumexp, true, true, Axes...>(a); }
// any<axes...>(a), all<axes...>(a): bool, of a bool tensor a. Of no elements: false, true
// Cost: one flop for each element of a and one for each of y.
template <auto... Axes, detail::handle A> constexpr auto any(const A& a) { return detail::reduce_mask<detail::any, false, Axes...>(a); }
template <auto... Axes, detail::handle A> constexpr auto any(const A& a, keepdims_t) { return detail::reduce_mask<detail::any, true, Axes...>(a); }
template <auto... Axes, detail::handle A> constexpr auto all(const A& a) { return detail::reduce_mask<detail::all, false, Axes...>(a); }
template <auto... Axes, detail::handle A> constexpr auto all(const A& a, keepdims_t) { return detail::reduce_mask<detail::all, true, Axes...>(a); }
// clang-format on

namespace detail {

constexpr void max_reduce_vjp(vjp_context& c) {
  const auto axes = static_cast<unsigned>(c.v.attr);
  shape along_axes = c.dims(0);
  for (int i = 0; i < along_axes.rank; ++i)
    if (!((axes >> i) & 1u)) along_axes.d[i] = 1;
  const int first = binary(c.g, op::eq, iota(c.g, along_axes), argmax(c.g, c.v.in[0], axes));
  c.give(0, {&c.g, where(c.g, first, expand(c.g, c.bar.node, c.dims(0)), c.g.constant(0, c.v.t))});
}

constexpr row_sum sums_of_sum(const node& v, const shape*, int, const row_axis& from) {
  return {((v.attr >> from.axis) & 1u) != 0, -1, {}};
}
constexpr int make_sum(graph& g, const node& v, const int (&in)[3], const shape&) {
  return sum(g, in[0], static_cast<unsigned>(v.attr));
}
// clang-format off
inline constexpr op_rule reduce_rules[] = {
  {op::sum,        "sum", kind::reduction, per_input<1>, {.axes = axes_but_those, .sums = sums_of_sum, .zero = {zero_0}, .nonzero = nowhere, .linear = {operand_0}, .attr = attr_names::axes, .make = make_sum}, [](vjp_context& c) { c.give(0, {&c.g, expand(c.g, c.bar.node, c.dims(0))}); }},
  {op::max_reduce, "max", kind::reduction, per_input<1>, {.axes = axes_but_those, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = not_linear, .attr = attr_names::axes}, max_reduce_vjp},
};
// clang-format on

} // namespace detail
} // namespace tapeless
