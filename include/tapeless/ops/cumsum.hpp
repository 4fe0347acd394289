// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// cumsum<axis>(a): y[.., i, ..] = a[.., 0, ..] + ... + a[.., i, ..]        its transpose sums from i to the end
#pragma once
#include "apply_elementwise.hpp"
#include "views.hpp"

namespace tapeless {
namespace detail {

// attr: the axis; attr2: 1 if it sums from i to the end
constexpr int cumsum(graph& g, int a, int axis, bool to_end = false) {
  node v;
  v.o = op::cumsum;
  v.t = g[a].t;
  v.in[0] = dense(g, a);
  v.attr = static_cast<std::uint64_t>(axis);
  v.attr2 = to_end ? 1 : 0;
  v.s = g[a].s;
  return g.intern(v);
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
template <detail::handle A, class... Axis> constexpr A cumsum(const A& a, const Axis&...) {
  static_assert(!detail::handle<A>,
                "tapeless: cumsum<axis>(a): the axis is a template argument, as in cumsum<1>(a)");
  return a;
}

namespace detail {

inline constexpr op_rule cumsum_rules[] = {
    {op::cumsum,
     "cumsum",
     kind::kernel,
     per_output<1>,
     {.axes = axes_but_one,
      .sums = no_sums,
      .zero = {zero_0},
      .nonzero = nowhere,
      .linear = {operand_0},
      .attr = attr_names::axis,
      .adds = true},
     [](vjp_context& c) {
       c.give(0, {&c.g, cumsum(c.g, c.bar.node, static_cast<int>(c.v.attr), c.v.attr2 == 0)});
     }}};

} // namespace detail
} // namespace tapeless
