// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Ops that move elements and compute nothing: the views of views.hpp, and pad, concat and flip, which copy.
// Each is linear; its vjp is the transposed move: slice <-> pad, concat -> slices, flip -> flip, broadcast_to -> sum.
#pragma once
#include "elementwise.hpp" // IWYU pragma: export
#include "slice.hpp"       // IWYU pragma: export
#include "views.hpp"       // IWYU pragma: export

namespace tapeless {
namespace detail {

template <extent_t Lo, extent_t Hi>
concept not_negative = Lo >= 0 && Hi >= 0;
constexpr bool concatenable(const shape& a, const shape& b, int axis) {
  if (a.rank != b.rank || axis >= a.rank) return false;
  for (int i = 0; i < a.rank; ++i)
    if (i != axis && a.d[i] != b.d[i]) return false;
  return is_static(a.d[axis]) && is_static(b.d[axis]);
}
template <shape A, shape B, int Axis>
concept extents_agree_off_the_axis = concatenable(A, B, Axis);
constexpr shape concatenated(shape a, const shape& b, int axis) {
  a.d[axis] += b.d[axis];
  return a;
}

} // namespace detail

// pad<axis, before, after>(a): y[.., before + i, ..] = a[.., i, ..], zeros elsewhere
//   the axis has extent before + extent + after
// Errors: compile errors. The axis exists (negative: from the end) and is static, before and after are not negative.
// Cost: one copy, no flops.
template <int Axis, extent_t Before, extent_t After, detail::handle A> constexpr auto pad(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  static_assert(not_negative<Before, After>,
                "tapeless: pad<axis, before, after>(a): before and after are not negative");
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    const int axis = axis_of(Axis, s.rank);
    require(g, axis >= 0 && axis < s.rank, "tapeless: pad<axis, before, after>(a): the axis exists", s);
    if (!g.sound()) return var{&g, a.id()};
    require(g, is_static(s.d[axis]),
            "tapeless: pad<axis, before, after>(a): the extent of the axis is static", s);
    return var{&g, pad(g, a.id(), axis, Before, After)};
  } else {
    static_assert(axis_in_range<Axis, A::extents.rank>,
                  "tapeless: pad<axis, before, after>(a): the axis exists");
    if constexpr (axis_in_range<Axis, A::extents.rank>) {
      constexpr int axis = axis_of(Axis, A::extents.rank);
      constexpr extent_t n = A::extents.d[axis];
      static_assert(static_extent<n>,
                    "tapeless: pad<axis, before, after>(a): the extent of the axis is static");
      if constexpr (static_extent<n>)
        return wrap<typename A::value_type, with_extent(A::extents, axis, n + Before + After)>(
            g, pad(g, a.id(), axis, Before, After));
      else return a;
    } else return a;
  }
}

// concat<axis>(a, b, ...): a's elements, then b's, ... along one axis, whose extents add up
// Errors: compile errors. The axis exists (negative: from the end) and is static, all other extents and the element
// types agree.
// Cost: no flops; k operands take k - 1 copies, each of all elements so far.
template <int Axis, detail::handle A, detail::handle B> constexpr auto concat(const A& a, const B& b) {
  using namespace detail;
  graph& g = graph_of(a);
  if constexpr (any_var<A, B>) {
    const int axis = axis_of(Axis, g[a.id()].s.rank);
    require(g, axis >= 0 && concatenable(g[a.id()].s, g[b.id()].s, axis) && g[a.id()].t == g[b.id()].t,
            "tapeless: concat<axis>(a, b): all other extents agree, the axis is static, one element type",
            g[a.id()].s, g[b.id()].s);
    if (!g.sound()) return var{&g, a.id()};
    return var{&g, concat(g, a.id(), b.id(), axis)};
  } else {
    using T = typename A::value_type;
    constexpr int axis = axis_of(Axis, A::extents.rank);
    static_assert(axis_in_range<Axis, A::extents.rank>, "tapeless: concat<axis>(a, b): the axis exists");
    static_assert(same_element_type<T, typename B::value_type>,
                  "tapeless: concat<axis>(a, b): both have one element type");
    if constexpr (axis_in_range<Axis, A::extents.rank>) {
      static_assert(extents_agree_off_the_axis<A::extents, B::extents, axis>,
                    "tapeless: concat<axis>(a, b): the axis is static and all other extents agree");
      if constexpr (extents_agree_off_the_axis<A::extents, B::extents, axis>)
        return wrap<T, concatenated(A::extents, B::extents, axis)>(g, concat(g, a.id(), b.id(), axis));
      else return a;
    } else return a;
  }
}
template <int Axis, detail::handle A, detail::handle B, detail::handle... Rest>
  requires(sizeof...(Rest) > 0)
constexpr auto concat(const A& a, const B& b, const Rest&... rest) {
  return concat<Axis>(concat<Axis>(a, b), rest...);
}

// flip<axis>(a): y[.., i, ..] = a[.., n - 1 - i, ..], n the extent of the axis
// Errors: compile errors. The axis exists (negative: from the end).
// Cost: one copy, no flops.
template <int Axis, detail::handle A> constexpr auto flip(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    const int axis = axis_of(Axis, s.rank);
    if (!require(g, axis >= 0 && axis < s.rank, "tapeless: flip<axis>(a): the axis exists", s))
      return var{&g, a.id()};
    return var{&g, flip(g, a.id(), axis)};
  } else {
    static_assert(axis_in_range<Axis, A::extents.rank>, "tapeless: flip<axis>(a): the axis exists");
    if constexpr (axis_in_range<Axis, A::extents.rank>)
      return wrap<typename A::value_type, A::extents>(g, flip(g, a.id(), axis_of(Axis, A::extents.rank)));
    else return a;
  }
}

// ---- rules ----------------------------------------------------------------------------------------------------
namespace detail {

constexpr operand_rows reshape_axes(const node& v, const shape* x, int, const row_axis& at, extent_t n) {
  return {reshaped_rows(v.s, at, n, x[0])};
}
constexpr operand_rows transpose_axes(const node& v, const shape*, int, const row_axis& at, extent_t) {
  return {row_axis{perm_axis(v.attr, at.axis), at.block}};
}
constexpr int make_slice(graph& g, const node& v, const int (&in)[3], const shape& s) {
  const int axis = static_cast<int>(v.attr);
  return slice(g, in[0], axis, static_cast<extent_t>(v.attr2), s.d[axis]);
}
constexpr int make_expand(graph& g, const node&, const int (&in)[3], const shape& s) {
  return expand(g, in[0], s);
}
constexpr int make_reshape(graph& g, const node&, const int (&in)[3], const shape& s) {
  return reshape(g, in[0], s);
}
constexpr int make_transpose(graph& g, const node& v, const int (&in)[3], const shape&) {
  return transpose(g, in[0], v.attr);
}
// clang-format off
inline constexpr op_rule shape_rules[] = {
  {op::expand,    "broadcast_to", kind::view,  no_flops, {.axes = aligned_axes, .sums = no_sums, .zero = {zero_0}, .nonzero = {nonzero_0}, .linear = {operand_0}, .attr = attr_names::nothing, .moves = true, .make = make_expand}, [](vjp_context& c) { c.give(0, c.bar); }}, // the pass sums
  {op::reshape,   "reshape",   kind::view,  no_flops, {.axes = reshape_axes, .sums = no_sums, .zero = {zero_0}, .nonzero = {nonzero_0}, .linear = {operand_0}, .attr = attr_names::nothing, .moves = true, .make = make_reshape}, [](vjp_context& c) { c.give(0, {&c.g, reshape(c.g, c.bar.node, c.dims(0))}); }},
  {op::transpose, "transpose", kind::view,  no_flops, {.axes = transpose_axes, .sums = no_sums, .zero = {zero_0}, .nonzero = {nonzero_0}, .linear = {operand_0}, .attr = attr_names::permutation, .moves = true, .make = make_transpose}, [](vjp_context& c) {
     c.give(0, {&c.g, transpose(c.g, c.bar.node, inverse_perm(c.v.attr, c.v.s.rank))}); }},
  {op::slice,     "slice",     kind::view,  no_flops, {.axes = axes_but_one, .sums = no_sums, .zero = {zero_0}, .nonzero = {nonzero_0}, .linear = {operand_0}, .attr = attr_names::axis, .moves = true, .make = make_slice}, [](vjp_context& c) {
     const int axis = static_cast<int>(c.v.attr);
     const auto lo = static_cast<extent_t>(c.v.attr2);
     c.give(0, {&c.g, pad(c.g, c.bar.node, axis, lo, c.dims(0).d[axis] - lo - c.v.s.d[axis])}); }},
  {op::pad,       "pad",       kind::kernel, no_flops, {.axes = axes_but_one, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = {operand_0}, .attr = attr_names::axis, .moves = true}, [](vjp_context& c) {
     const int axis = static_cast<int>(c.v.attr);
     c.give(0, {&c.g, slice(c.g, c.bar.node, axis, static_cast<extent_t>(c.v.attr2), c.dims(0).d[axis])}); }},
  {op::concat,    "concat",    kind::kernel, no_flops, {.axes = axes_but_one, .sums = no_sums, .zero = {zero_0 | zero_1}, .nonzero = {nonzero_0 | nonzero_1}, .linear = {operand_0 | operand_1}, .attr = attr_names::axis}, [](vjp_context& c) {
     const int axis = static_cast<int>(c.v.attr);
     const extent_t n = c.dims(0).d[axis];
     if (c.needs(0)) c.give(0, {&c.g, slice(c.g, c.bar.node, axis, 0, n)});
     if (c.needs(1)) c.give(1, {&c.g, slice(c.g, c.bar.node, axis, n, c.dims(1).d[axis])}); }},
  {op::flip,      "flip",      kind::kernel, no_flops, {.axes = axes_but_one, .sums = no_sums, .zero = {zero_0}, .nonzero = {nonzero_0}, .linear = {operand_0}, .attr = attr_names::axis, .moves = true}, [](vjp_context& c) {
     c.give(0, {&c.g, flip(c.g, c.bar.node, static_cast<int>(c.v.attr))}); }},
};
// clang-format on

} // namespace detail
} // namespace tapeless
