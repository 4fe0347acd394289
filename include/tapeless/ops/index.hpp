// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// y = gather<axis>(x, i)          y[.., j, ..] = x[.., i[j], ..]          i: int32, any shape in place of the axis
// x = scatter_add<axis, N>(i, y)  x[.., i[j], ..] += y[.., j, ..]         its transpose
// iota<axis>(x): int32, 0, 1, ... along one axis
//
// Indices that come from an argument are checked before the first step of a run; computed ones are clamped into range.
#pragma once
#include <bit>
#include "shape.hpp" // IWYU pragma: export

namespace tapeless {
namespace detail {

constexpr int iota(graph& g, shape s) { // row-major position within s
  return g.intern({.o = op::iota, .t = dtype::i32, .s = s});
}
// index, so that it lies in [0, bound): an argument is checked when a run reads it; a computed one is clamped, and so
// is one of selected rows. passes: one more number that an argument may hold
inline constexpr extent_t no_index = extent_t{1} << 32; // not an int32
constexpr bool is_all_positions(const graph& g, int index, extent_t bound) {
  return g[index].o == op::iota && g[index].s == shape{1, {bound}};
}
constexpr bool casts_labels(const graph& g, int x) { // of uint8 or int64
  return g[x].o == op::cast && g[x].t == dtype::i32 && is_stored_integer(g[g[x].in[0]].t);
}
constexpr bool is_view_of_argument(const graph& g, int x) { // of a whole argument, as int32
  while (g[x].o == op::reshape || g[x].o == op::transpose || g[x].o == op::expand || g[x].o == op::copy ||
         casts_labels(g, x))
    x = g[x].in[0];
  return g[x].o == op::input;
}
constexpr int checked_index(graph& g, int index, extent_t bound, extent_t passes = no_index) {
  if (g[index].o != op::input && is_view_of_argument(g, index) &&
      !(casts_labels(g, index) && g.has_data_dependent_rows(bound))) {
    const node v = g[index];
    const int x = checked_index(g, v.in[0], bound, passes);
    return v.o == op::reshape     ? reshape(g, x, v.s)
           : v.o == op::transpose ? transpose(g, x, v.attr)
           : v.o == op::expand    ? expand(g, x, v.s)
           : v.o == op::cast      ? unary(g, op::cast, x, dtype::i32)
                                  : x;
  }
  if (g[index].o == op::select) { // positions: in range if there are at most `bound` values
    const extent_t values = g[g[index].in[0]].s.d[0];
    const bool known = is_static(values) && is_static(bound);
    g.require(!known || values <= bound,
              "tapeless: a selection as an index: it is of at most as many values as the axis has",
              shape{1, {values}}, shape{1, {bound}});
    if (known || values == bound) return index;
  }
  if (is_all_positions(g, index, bound)) return index;
  if (g[index].o != op::input || g.has_data_dependent_rows(bound)) {
    const int top = g.extent_value(bound, dtype::i32);
    return binary(g, op::max, binary(g, op::min, index, binary(g, op::sub, top, g.constant(1, dtype::i32))),
                  g.constant(0, dtype::i32));
  }
  return g.intern({.o = op::checked_index,
                   .t = g[index].t,
                   .in = {index, no_node, no_node},
                   .attr = static_cast<std::uint64_t>(bound),
                   .attr2 = static_cast<std::uint64_t>(passes),
                   .s = g[index].s});
}
constexpr shape gathered(const shape& s, const shape& index, int axis) { // s, its axis replaced by index
  shape r;
  for (int i = 0; i < s.rank; ++i) {
    if (i != axis) r.d[r.rank++] = s.d[i];
    else
      for (int j = 0; j < index.rank; ++j) r.d[r.rank++] = index.d[j];
  }
  return r;
}
constexpr int gather(graph& g, int a, int index, int axis) {
  if (is_all_positions(g, index, g[a].s.d[axis])) return a;
  return g.intern({.o = op::gather,
                   .t = g[a].t,
                   .in = {dense(g, a), dense(g, index), no_node},
                   .attr = static_cast<std::uint64_t>(axis),
                   .s = gathered(g[a].s, g[index].s, axis)});
}
// base: what d is added to; none: zeros. Only the rewrites of rows make one, after differentiation: it has no vjp.
constexpr int scatter_add(graph& g, int d, int index, int axis, shape to, int base = no_node) {
  node v;
  v.o = op::scatter_add;
  v.t = g[d].t;
  v.attr = static_cast<std::uint64_t>(axis);
  v.in[0] = dense(g, d);
  v.in[1] = dense(g, index);
  if (base >= 0) v.in[2] = dense(g, base);
  v.s = to;
  return g.intern(v);
}
constexpr shape along(shape s, int axis) {
  for (int i = 0; i < s.rank; ++i)
    if (i != axis) s.d[i] = 1;
  return s;
}
template <int... Axes> constexpr unsigned axes_mask(int rank) {
  if constexpr (sizeof...(Axes) == 0) return (1u << rank) - 1u;
  else return ((1u << axis_of(Axes, rank)) | ...);
}

template <class T>
concept index_type = std::is_same_v<T, std::int32_t>;
constexpr bool not_empty(const shape& s, unsigned axes) {
  for (int i = 0; i < s.rank; ++i)
    if (((axes >> i) & 1u) && s.d[i] == 0) return false;
  return true;
}
template <int... Axes> constexpr bool in_range(int rank) { return ((Axes >= -rank && Axes < rank) && ...); }
// @pre in_range<Axes...>(rank)
template <int... Axes> constexpr bool named_once(int rank) {
  return sizeof...(Axes) == 0 || std::popcount(axes_mask<Axes...>(rank)) == int{sizeof...(Axes)};
}
template <int Rank, int... Axes>
concept axes_exist = in_range<Axes...>(Rank);
template <int Rank, int... Axes>
concept axes_differ = named_once<Axes...>(Rank);
template <shape S, unsigned Axes>
concept axes_not_empty = not_empty(S, Axes);
// Is there an element that the indices can name? (A named extent is known only at run time.)
constexpr bool has_range(extent_t bound, const shape& index) {
  return bound != 0 || numel(index) == 0 || !is_static(numel(index));
}
template <extent_t Bound, shape Index>
concept indices_have_a_range = has_range(Bound, Index);
// Does d have the extents of index at the axis?
constexpr bool scatterable(const shape& index, const shape& d, int axis) {
  if (axis + index.rank > d.rank) return false;
  for (int i = 0; i < index.rank; ++i)
    if (index.d[i] != d.d[axis + i]) return false;
  return true;
}
constexpr shape scattered(const shape& index, const shape& d, int axis, extent_t n) {
  shape r;
  for (int i = 0; i < axis; ++i) r.d[r.rank++] = d.d[i];
  r.d[r.rank++] = n;
  for (int i = axis + index.rank; i < d.rank; ++i) r.d[r.rank++] = d.d[i];
  return r;
}
template <shape Index, shape D, int Axis>
concept index_shape_is_ds_at_the_axis = scatterable(Index, D, Axis);
template <int Rank>
concept rank_fits = Rank <= max_rank;

} // namespace detail

// iota<axis>(a): int32 0, 1, ... along the axis, extent 1 along the others. Cost: none, its reader's loop computes it.
template <int Axis, detail::handle A> constexpr auto iota(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    if (!require(g, in_range<Axis>(s.rank), "tapeless: iota<axis>(a): the axis exists", s))
      return var{&g, a.id()};
    return var{&g, iota(g, along(s, axis_of(Axis, s.rank)))};
  } else {
    static_assert(axis_in_range<Axis, A::extents.rank>, "tapeless: iota<axis>(a): the axis exists");
    constexpr shape s = along(A::extents, axis_of(Axis, A::extents.rank));
    return wrap<std::int32_t, s>(g, iota(g, s));
  }
}

// gather<axis>(x, index): x[:axis] + index.shape + x[axis+1:]
// Errors: an index outside [0, extent) in an argument is an exception at run time; a computed one is clamped, and reads
// 0 if the extent is 0. Cost: no flops.
template <int Axis = 0, detail::handle A, detail::handle I> constexpr auto gather(const A& a,
                                                                                  const I& index) {
  using namespace detail;
  graph& g = graph_of(a);
  if constexpr (any_var<A, I>) {
    const shape s = g[a.id()].s, si = g[index.id()].s;
    const int axis = axis_of(Axis, s.rank);
    require(
        g, g[index.id()].t == dtype::i32,
        "tapeless: gather<axis>(x, index): index is int32, as cast<std::int32_t>(index) is; of a mask, where<'k'>(mask)");
    require(g, in_range<Axis>(s.rank), "tapeless: gather<axis>(x, index): the axis exists", s);
    require(g, s.rank - 1 + si.rank <= max_rank,
            "tapeless: gather<axis>(x, index): the result has at most 6 axes", s, si);
    if (!g.sound()) return var{&g, a.id()};
    require(g, has_range(s.d[axis], si),
            "tapeless: gather<axis>(x, index): the axis is not empty where index is not", s, si);
    return var{&g, gather(g, a.id(), checked_index(g, index.id(), s.d[axis]), axis)};
  } else {
    constexpr int rank = A::extents.rank;
    static_assert(
        index_type<typename I::value_type>,
        "tapeless: gather<axis>(x, index): index is int32, as cast<std::int32_t>(index) is; of a mask, where<'k'>(mask)");
    static_assert(axis_in_range<Axis, rank>, "tapeless: gather<axis>(x, index): the axis exists");
    static_assert(rank_fits<rank - 1 + I::extents.rank>,
                  "tapeless: gather<axis>(x, index): the result has at most 6 axes");
    if constexpr (axis_in_range<Axis, rank> && rank_fits<rank - 1 + I::extents.rank> &&
                  index_type<typename I::value_type>) {
      constexpr int axis = axis_of(Axis, rank);
      static_assert(indices_have_a_range<A::extents.d[axis], I::extents>,
                    "tapeless: gather<axis>(x, index): the axis is not empty where index is not");
      return wrap<typename A::value_type, gathered(A::extents, I::extents, axis)>(
          g, gather(g, a.id(), checked_index(g, index.id(), A::extents.d[axis]), axis));
    } else return a;
  }
}

// scatter_add<axis, n>(index, d): zeros of extent n at the axis, with d added at the indices; repeated indices add up
//   d[:axis] + index.shape + d[axis+index.rank:]  ->  d[:axis] + (n) + d[axis+index.rank:]
// Errors: as gather; a computed index into an extent n that is 0 adds nothing. Cost: one flop for each element of d.
template <int Axis, extent_t N, detail::handle I, detail::handle D>
constexpr auto scatter_add(const I& index, const D& d) {
  using namespace detail;
  graph& g = graph_of(d);
  if constexpr (any_var<D, I>) {
    const shape s = g[d.id()].s, si = g[index.id()].s;
    const int axis = axis_of(Axis, s.rank - si.rank + 1);
    require(g, g[index.id()].t == dtype::i32,
            "tapeless: scatter_add<axis, n>(index, d): index is int32, as cast<std::int32_t>(index) is");
    require(g, axis >= 0 && scatterable(si, s, axis),
            "tapeless: scatter_add<axis, n>(index, d): d has index's shape at the axis", si, s);
    require(g, s.rank - si.rank + 1 <= max_rank,
            "tapeless: scatter_add<axis, n>(index, d): the result has at most 6 axes", si, s);
    require(g, has_range(N, si),
            "tapeless: scatter_add<axis, n>(index, d): n is at least 1 where index is not empty", si, s);
    if (!g.sound()) return var{&g, d.id()};
    return var{&g, scatter_add(g, d.id(), checked_index(g, index.id(), N), axis, scattered(si, s, axis, N))};
  } else {
    constexpr int axis = axis_of(Axis, D::extents.rank - I::extents.rank + 1);
    static_assert(
        index_type<typename I::value_type>,
        "tapeless: scatter_add<axis, n>(index, d): index is int32, as cast<std::int32_t>(index) is");
    static_assert(axis >= 0 && index_shape_is_ds_at_the_axis<I::extents, D::extents, axis>,
                  "tapeless: scatter_add<axis, n>(index, d): d has index's shape at the axis");
    static_assert(rank_fits<D::extents.rank - I::extents.rank + 1>,
                  "tapeless: scatter_add<axis, n>(index, d): the result has at most 6 axes");
    static_assert(indices_have_a_range<N, I::extents>,
                  "tapeless: scatter_add<axis, n>(index, d): n is at least 1 where index is not empty");
    if constexpr (index_type<typename I::value_type> && axis >= 0 &&
                  rank_fits<D::extents.rank - I::extents.rank + 1> &&
                  scatterable(I::extents, D::extents, axis)) {
      constexpr shape to = scattered(I::extents, D::extents, axis, N);
      return wrap<typename D::value_type, to>(
          g, scatter_add(g, d.id(), checked_index(g, index.id(), N), axis, to));
    } else return d;
  }
}

namespace detail {

constexpr operand_rows gather_axes(const node& v, const shape* x, int k, const row_axis& at, extent_t) {
  const int axis = static_cast<int>(v.attr), taken = x[1].rank;
  const bool of_index = at.axis >= axis && at.axis < axis + taken;
  if (k == 1) return {of_index ? row_axis{at.axis - axis, at.block} : row_axis{}};
  return {of_index ? row_axis{} : row_axis{at.axis < axis ? at.axis : at.axis - taken + 1, at.block}};
}
constexpr operand_rows scatter_axes(const node& v, const shape* x, int k, const row_axis& at, extent_t) {
  const int axis = static_cast<int>(v.attr),
            from = at.axis < axis || k == 2 ? at.axis : at.axis + x[1].rank - 1;
  return {at.axis == axis || k == 1 ? row_axis{} : row_axis{from, at.block}};
}
// clang-format off
inline constexpr op_rule index_rules[] = {
  {op::input,    "input",    kind::leaf, no_flops, no_facts},
  {op::argument, "argument", kind::leaf, no_flops, no_facts},
  {op::constant,    "constant", kind::leaf, no_flops, no_facts},
  {op::extent,   "extent",   kind::leaf, no_flops, no_facts},
  {op::iota,     "iota",     kind::leaf, no_flops, no_facts},
  {op::checked_index, "checked_index", kind::view, no_flops, no_facts},
  {op::argmax,   "argmax",   kind::kernel, per_input<1>, {.axes = axes_but_those, .sums = no_sums, .zero = nowhere, .nonzero = nowhere, .linear = not_linear, .attr = attr_names::axes}},
  {op::gather,   "gather",   kind::kernel, no_flops, {.axes = gather_axes, .sums = no_sums, .zero = {zero_0}, .nonzero = nowhere, .linear = {operand_0}, .attr = attr_names::axis, .moves = true}, [](vjp_context& c) {
     c.give(0, {&c.g, scatter_add(c.g, c.bar.node, c.v.in[1], static_cast<int>(c.v.attr), c.dims(0))}); }},
  {op::scatter_add, "scatter_add", kind::kernel, per_input<1>, {.axes = scatter_axes, .sums = no_sums, .zero = {zero_0 | zero_2}, .nonzero = nowhere, .linear = {operand_0 | operand_2}, .attr = attr_names::axis}, [](vjp_context& c) {
     c.give(0, {&c.g, gather(c.g, c.bar.node, c.v.in[1], static_cast<int>(c.v.attr))}); }},
};
// clang-format on

} // namespace detail
} // namespace tapeless
