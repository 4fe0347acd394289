// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// y = take_along_axis<axis>(a, i)          y[.., j, ..] = a[.., i[.., j, ..], ..]
// scatter_add_along_axis<axis>(a, i, d)    a, with d[.., j, ..] added at [.., i[.., j, ..], ..]; max and min likewise
// gather and scatter_add have one index for all lines of the axis, these one for each element. They are moves of single elements
// of a flat tensor.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>
#include "elementwise.hpp"
#include "index.hpp"

namespace tapeless {
namespace detail {

// What an index of shape i takes of s: its extents agree with those of s, or are 1, but for the axis.
constexpr bool indexes_along(const shape& s, const shape& i, int axis) {
  if (axis < 0 || axis >= s.rank || i.rank != s.rank) return false;
  for (int k = 0; k < s.rank; ++k)
    if (k != axis && i.d[k] != s.d[k] && i.d[k] != 1) return false;
  return true;
}
// A place in a flat tensor is an int32.
constexpr bool places_fit(const shape& s) {
  return !is_static(numel(s)) || numel(s) <= extent_t{std::numeric_limits<std::int32_t>::max()};
}
template <shape S, shape I, int Axis>
concept index_along_axis = indexes_along(S, I, axis_of(Axis, S.rank));
template <shape S>
concept places_are_int32 = places_fit(S);
template <shape I, shape D>
concept fits_into = broadcastable(I, D) && broadcast(I, D) == I;

constexpr extent_t count_within(const shape& s, int from, int to) {
  extent_t n = 1;
  for (int k = from; k < to; ++k) n = times(n, s.d[k]);
  return n;
}
// The place, in flat elements of shape s, that each element of the index names. @pre indexes_along(s, shape of index, axis)
constexpr int places_along(graph& g, shape s, int index, int axis) {
  const shape to = with_extent(s, axis, g[index].s.d[axis]);
  const extent_t after = count_within(s, axis + 1, s.rank), line = times(s.d[axis], after);
  shape ahead = to, behind = to; // the axes on either side
  for (int k = 0; k < s.rank; ++k) {
    if (k >= axis) ahead.d[k] = 1;
    if (k <= axis) behind.d[k] = 1;
  }
  const auto number = [&g](extent_t n) { return g.extent_value(n, dtype::i32); };
  int place = binary(g, op::mul, checked_index(g, index, s.d[axis]), number(after));
  if (numel(ahead) != 1) place = binary(g, op::add, place, binary(g, op::mul, iota(g, ahead), number(line)));
  if (after != 1) place = binary(g, op::add, place, iota(g, behind));
  if (const extent_t all = numel(s);
      !is_static(all)) { // of very many elements a place may have wrapped around
    const int last = binary(g, op::sub, number(all), g.constant(1, dtype::i32));
    place = binary(g, op::max, binary(g, op::min, place, last), g.constant(0, dtype::i32));
  }
  return expand(g, place, to);
}
constexpr int flat(graph& g, int a) { return reshape(g, a, shape{1, {numel(g[a].s)}}); }

constexpr int take_along(graph& g, int a, int index, int axis) {
  return gather(g, flat(g, a), places_along(g, g[a].s, index, axis), 0);
}
// Zeros of shape s, with d added at the places
constexpr int scatter_along(graph& g, shape s, int index, int d, int axis) {
  const int place = places_along(g, s, index, axis);
  return reshape(g, scatter_add(g, expand(g, d, g[place].s), place, 0, shape{1, {numel(s)}}), s);
}
constexpr int add_along(graph& g, int a, int index, int d, int axis) {
  return binary(g, op::add, a, scatter_along(g, g[a].s, index, d, axis));
}
// For each place the position in d of the first of the largest values that is put there, or -1 if it is not above the base. A NaN
// is the largest.   d, place: (m)   base: (n)
constexpr int scatter_argmax(graph& g, int d, int place, int base) {
  return g.intern({.o = op::scatter_argmax,
                   .t = dtype::i32,
                   .in = {dense(g, d), dense(g, place), dense(g, base)},
                   .s = g[base].s});
}
constexpr int max_along(graph& g, int a, int index, int d, int axis) {
  const shape s = g[a].s;
  const int place = places_along(g, s, index, axis), base = flat(g, a),
            values = flat(g, expand(g, d, g[place].s)), none = g.constant(0, dtype::i32);
  if (numel(g[values].s) == 0) return a;
  const int winner = scatter_argmax(g, values, flat(g, place), base);
  const int of_base = binary(g, op::lt, winner, none);
  const int won = gather(g, values, binary(g, op::max, winner, none), 0);
  return reshape(g, where(g, of_base, base, won), s);
}
// a in reverse order, exactly: NaN stays NaN, and no int32 overflows.
constexpr int in_reverse_order(graph& g, int a) {
  if (g[a].t == dtype::i32) return binary(g, op::sub, g.constant(-1, dtype::i32), a);
  return unary(g, op::neg, a);
}
constexpr int min_along(graph& g, int a, int index, int d, int axis) {
  return in_reverse_order(g, max_along(g, in_reverse_order(g, a), index, in_reverse_order(g, d), axis));
}

using put_along = int (*)(graph&, int, int, int, int);
template <put_along Put, int Axis, class A, class I, class D>
constexpr auto apply_put_along(const A& a, const I& index, const D& d) {
  graph& g = graph_of(a, index, d);
  if constexpr (any_var<A, I, D>) {
    const shape s = g[a.id()].s, si = g[index.id()].s, sd = g[d.id()].s;
    const int axis = axis_of(Axis, s.rank);
    require(
        g, g[index.id()].t == dtype::i32,
        "tapeless: scatter_add_along_axis, .._max_.., .._min_..: index is int32, as cast<std::int32_t>(index) is");
    require(
        g, g[a.id()].t == g[d.id()].t && (is_float(g[a.id()].t) || g[a.id()].t == dtype::i32),
        "tapeless: scatter_add_along_axis, .._max_.., .._min_..: a and d have one element type: float, double or int32");
    if (!require(
            g, indexes_along(s, si, axis),
            "tapeless: scatter_add_along_axis, .._max_.., .._min_..: the axis exists, and index has a's rank and, beside the "
            "axis, its extents or 1",
            s, si))
      return var{&g, a.id()};
    const shape to = with_extent(s, axis, si.d[axis]);
    require(
        g, broadcastable(to, sd) && broadcast(to, sd) == to,
        "tapeless: scatter_add_along_axis, .._max_.., .._min_..: d has an element for each index, or is repeated",
        to, sd);
    require(
        g, has_range(s.d[axis], to),
        "tapeless: scatter_add_along_axis, .._max_.., .._min_..: the axis is not empty where index is not", s,
        si);
    require(g, places_fit(s),
            "tapeless: scatter_add_along_axis, .._max_.., .._min_..: a has less than 2^31 elements", s);
    if (!g.sound()) return var{&g, a.id()};
    return var{&g, Put(g, a.id(), index.id(), d.id(), axis)};
  } else {
    using T = typename A::value_type;
    static_assert(
        index_type<typename I::value_type>,
        "tapeless: scatter_add_along_axis, .._max_.., .._min_..: index is int32, as cast<std::int32_t>(index) is");
    static_assert(
        arithmetic<T> && same_element_type<T, typename D::value_type>,
        "tapeless: scatter_add_along_axis, .._max_.., .._min_..: a and d have one element type: float, double or int32");
    static_assert(
        index_along_axis<A::extents, I::extents, Axis>,
        "tapeless: scatter_add_along_axis, .._max_.., .._min_..: the axis exists, and index has a's rank and, beside the "
        "axis, its extents or 1");
    if constexpr (index_type<typename I::value_type> && arithmetic<T> &&
                  same_element_type<T, typename D::value_type> &&
                  index_along_axis<A::extents, I::extents, Axis>) {
      constexpr int axis = axis_of(Axis, A::extents.rank);
      constexpr shape to = with_extent(A::extents, axis, I::extents.d[axis]);
      static_assert(
          fits_into<to, D::extents>,
          "tapeless: scatter_add_along_axis, .._max_.., .._min_..: d has an element for each index, or is repeated");
      static_assert(
          indices_have_a_range<A::extents.d[axis], to>,
          "tapeless: scatter_add_along_axis, .._max_.., .._min_..: the axis is not empty where index is not");
      static_assert(places_are_int32<A::extents>,
                    "tapeless: scatter_add_along_axis, .._max_.., .._min_..: a has less than 2^31 elements");
      if constexpr (fits_into<to, D::extents>)
        return wrap<T, A::extents>(g, Put(g, a.id(), index.id(), d.id(), axis));
      else return a;
    } else return a;
  }
}

} // namespace detail

// take_along_axis<axis>(a, index): y[.., j, ..] = a[.., index[.., j, ..], ..]
//   index: int32, of a's rank; beside the axis its extents are those of a, or 1, which is repeated
//   y: a's shape, with index's extent at the axis
// With index = argmax<axis>(a), expanded, it is the maximum; with an argsort it sorts.
// Errors: compile errors for types and shapes; an index of an argument that is not in [0, extent) is an exception at run time, a
// computed one is clamped. a has less than 2^31 elements. Cost: no flops; one int32 for each element of y.
template <int Axis, detail::handle A, detail::handle I> constexpr auto take_along_axis(const A& a,
                                                                                       const I& index) {
  using namespace detail;
  graph& g = graph_of(a, index);
  if constexpr (any_var<A, I>) {
    const shape s = g[a.id()].s, si = g[index.id()].s;
    const int axis = axis_of(Axis, s.rank);
    require(g, g[index.id()].t == dtype::i32,
            "tapeless: take_along_axis<axis>(a, index): index is int32, as cast<std::int32_t>(index) is");
    if (!require(
            g, indexes_along(s, si, axis),
            "tapeless: take_along_axis<axis>(a, index): the axis exists, and index has a's rank and, beside the axis, its "
            "extents or 1",
            s, si))
      return var{&g, a.id()};
    require(g, has_range(s.d[axis], with_extent(s, axis, si.d[axis])),
            "tapeless: take_along_axis<axis>(a, index): the axis is not empty where index is not", s, si);
    require(g, places_fit(s), "tapeless: take_along_axis<axis>(a, index): a has less than 2^31 elements", s);
    if (!g.sound()) return var{&g, a.id()};
    return var{&g, take_along(g, a.id(), index.id(), axis)};
  } else {
    static_assert(
        index_type<typename I::value_type>,
        "tapeless: take_along_axis<axis>(a, index): index is int32, as cast<std::int32_t>(index) is");
    static_assert(
        index_along_axis<A::extents, I::extents, Axis>,
        "tapeless: take_along_axis<axis>(a, index): the axis exists, and index has a's rank and, beside the axis, its "
        "extents or 1");
    if constexpr (index_type<typename I::value_type> && index_along_axis<A::extents, I::extents, Axis>) {
      constexpr int axis = axis_of(Axis, A::extents.rank);
      constexpr shape to = with_extent(A::extents, axis, I::extents.d[axis]);
      static_assert(indices_have_a_range<A::extents.d[axis], to>,
                    "tapeless: take_along_axis<axis>(a, index): the axis is not empty where index is not");
      static_assert(places_are_int32<A::extents>,
                    "tapeless: take_along_axis<axis>(a, index): a has less than 2^31 elements");
      return wrap<typename A::value_type, to>(g, take_along(g, a.id(), index.id(), axis));
    } else return a;
  }
}

// scatter_add_along_axis<axis>(a, index, d): a + sum of d[.., j, ..] over index[.., j, ..] == i, for each i
// scatter_max_along_axis, scatter_min_along_axis: the largest, or smallest, of a's element and of those of d. A NaN wins. At a tie
// a gets the cotangent, then the first element of d.
//   a: float, double or int32   index: as for take_along_axis   d: an element for each index; it broadcasts to that   result: a's shape
// Errors: as take_along_axis. Cost: add: a flop for each element of d and of a; max, min: a flop for each element of d.
template <int Axis, detail::handle A, detail::handle I, detail::handle D>
constexpr auto scatter_add_along_axis(const A& a, const I& index, const D& d) {
  return detail::apply_put_along<detail::add_along, Axis>(a, index, d);
}
template <int Axis, detail::handle A, detail::handle I, detail::handle D>
constexpr auto scatter_max_along_axis(const A& a, const I& index, const D& d) {
  return detail::apply_put_along<detail::max_along, Axis>(a, index, d);
}
template <int Axis, detail::handle A, detail::handle I, detail::handle D>
constexpr auto scatter_min_along_axis(const A& a, const I& index, const D& d) {
  return detail::apply_put_along<detail::min_along, Axis>(a, index, d);
}

namespace detail {

inline constexpr op_rule along_axis_rules[] = {{op::scatter_argmax,
                                                "scatter_argmax",
                                                kind::kernel,
                                                per_input<1>,
                                                {.axes = no_axes,
                                                 .sums = no_sums,
                                                 .zero = nowhere,
                                                 .nonzero = nowhere,
                                                 .linear = not_linear,
                                                 .attr = attr_names::nothing}}};

} // namespace detail
} // namespace tapeless
