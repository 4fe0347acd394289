// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// argmax<axes...>(x), argmin: int32, the position of the first maximum or minimum, an op whose attr2 is 1 for argmin. The rule stands in
// index.hpp.
#pragma once
#include <concepts>
#include "index.hpp"

namespace tapeless {

// Tag: the reduced axes keep extent 1.
struct keepdims_t {};
inline constexpr keepdims_t keepdims{};

namespace detail {

template <class... Axes>
concept no_axis_is_bool = (!std::is_same_v<Axes, bool> && ...); // sum<0, true> would name axis 1

constexpr int argmax_node(graph& g, int a, unsigned axes, bool least) {
  return g.intern({.o = op::argmax,
                   .t = dtype::i32,
                   .in = {dense(g, a), no_node, no_node},
                   .attr = axes,
                   .attr2 = least,
                   .s = keepdims(g[a].s, axes)});
}
constexpr int argmax(graph& g, int a, unsigned axes) { return argmax_node(g, a, axes, false); }
constexpr int argmin(graph& g, int a, unsigned axes) { return argmax_node(g, a, axes, true); }

template <auto F, bool Keep, auto... Axes, class A> constexpr auto apply_argmax(const A& a) {
  static_assert(
      no_axis_is_bool<decltype(Axes)...>,
      "tapeless: reduction<axes...>(a): an axis is a number; to keep the axes, tl::keepdims stands behind a");
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    if (!require(g, in_range<Axes...>(s.rank), "tapeless: argmax<axes...>(a): the axes exist", s) ||
        !require(g, named_once<Axes...>(s.rank), "tapeless: argmax<axes...>(a): no axis is named twice", s))
      return var{&g, a.id()};
    const unsigned axes = axes_mask<Axes...>(s.rank);
    require(g, not_empty(s, axes), "tapeless: argmax<axes...>(a): the axes are not empty", s);
    return var{&g, reshape(g, F(g, a.id(), axes), Keep ? keepdims(s, axes) : dropped(s, axes))};
  } else {
    static_assert(axes_exist<A::extents.rank, Axes...>, "tapeless: argmax<axes...>(a): the axes exist");
    if constexpr (axes_exist<A::extents.rank, Axes...>) {
      static_assert(axes_differ<A::extents.rank, Axes...>,
                    "tapeless: argmax<axes...>(a): no axis is named twice");
      constexpr unsigned axes = axes_mask<Axes...>(A::extents.rank);
      static_assert(axes_not_empty<A::extents, axes>, "tapeless: argmax<axes...>(a): the axes are not empty");
      constexpr shape s = Keep ? keepdims(A::extents, axes) : dropped(A::extents, axes);
      return wrap<std::int32_t, s>(g, reshape(g, F(g, a.id(), axes), s));
    } else return a;
  }
}

} // namespace detail

// argmax<axes...>(a): row-major position of the first maximum within the axes (all axes if none is given).
//   (.., axes.., ..) -> (.., ..) int32; with keepdims the axes keep extent 1    Cost: one flop for each element of a.
// A NaN counts as the maximum. The axes may not be empty: a named extent that is 0 is an exception at run time.
template <std::integral auto... Axes, detail::handle A> constexpr auto argmax(const A& a) {
  return detail::apply_argmax<detail::argmax, false, Axes...>(a);
}
template <std::integral auto... Axes, detail::handle A> constexpr auto argmax(const A& a, keepdims_t) {
  return detail::apply_argmax<detail::argmax, true, Axes...>(a);
}
// argmin<axes...>(a): that of the first minimum; a NaN counts as the minimum. Cost: one flop for each element of a.
template <std::integral auto... Axes, detail::handle A> constexpr auto argmin(const A& a) {
  return detail::apply_argmax<detail::argmin, false, Axes...>(a);
}
template <std::integral auto... Axes, detail::handle A> constexpr auto argmin(const A& a, keepdims_t) {
  return detail::apply_argmax<detail::argmin, true, Axes...>(a);
}

} // namespace tapeless
