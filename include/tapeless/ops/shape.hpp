// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Ops that move elements and compute nothing.
//   reshape, flatten, transpose, slice, broadcast_to: views, read through by their consumers
//   pad, concat: one copy
// Each is linear; its vjp is the transposed move: slice <-> pad, concat -> slices, broadcast_to -> sum.
#pragma once
#include "elementwise.hpp" // IWYU pragma: export

namespace tapeless {
namespace detail {

// ---- builders: shapes are passed by value, for a reference into the graph dies when the graph grows -----------

// A whole-tensor op reads its operand as one dense block: what is only a view is copied first.
constexpr int dense(graph& g, int a) {
  const op o = g[a].o;
  const bool view = o == op::expand || o == op::transpose || o == op::slice || o == op::constant ||
                    o == op::extent || o == op::iota;
  if (!view) return a;
  node v;
  v.o = op::copy;
  v.t = g[a].t;
  v.in[0] = a;
  v.s = g[a].s;
  return g.intern(v);
}

// @pre numel(g[a].s) == numel(s)
constexpr int reshape(graph& g, int a, shape s) {
  if (g[a].s == s) return a;
  if (g[a].o == op::reshape) return reshape(g, g[a].in[0], s);
  if (g[a].o == op::expand && g[g[a].in[0]].s.rank == 0) return expand(g, g[a].in[0], s);
  if (g.is_konst(a) || g[a].o == op::extent) return expand(g, a, s);
  if (const int k = g.in_adjoint ? branch_beside_zero(g, a) : 0;
      k > 0 && squeezed(g[a].s) == squeezed(s) && g[g[a].in[0]].s == g[a].s) {
    // Axes of extent 1 come or go: the zero stays one, as in binary.
    node w = g[a];
    const int d = w.in[k];
    if (g[d].s == w.s || g[d].s.rank == 0) {
      w.in[0] = reshape(g, w.in[0], s);
      return with_branch(g, w, k, g[d].s.rank == 0 ? d : reshape(g, d, s));
    }
  }
  node v;
  v.o = op::reshape;
  v.t = g[a].t;
  v.in[0] = dense(g, a);
  v.s = s;
  return g.intern(v);
}

// perm: four bits an axis; axis i of the result is axis perm_i of the operand
constexpr int perm_axis(std::uint64_t perm, int i) { return static_cast<int>((perm >> (4 * i)) & 15); }
constexpr int transpose(graph& g, int a, std::uint64_t perm) {
  const int rank = g[a].s.rank;
  if (g[a].o == op::transpose) {
    std::uint64_t both = 0;
    for (int i = 0; i < rank; ++i)
      both |= static_cast<std::uint64_t>(perm_axis(g[a].attr, perm_axis(perm, i))) << (4 * i);
    return transpose(g, g[a].in[0], both);
  }
  bool identity = true;
  node v;
  v.s.rank = rank;
  for (int i = 0; i < rank; ++i) {
    v.s.d[i] = g[a].s.d[perm_axis(perm, i)];
    identity = identity && perm_axis(perm, i) == i;
  }
  if (identity) return a;
  v.o = op::transpose;
  v.t = g[a].t;
  v.attr = perm;
  v.in[0] = a;
  return g.intern(v);
}
constexpr std::uint64_t inverse_perm(std::uint64_t perm, int rank) {
  std::uint64_t r = 0;
  for (int i = 0; i < rank; ++i) r |= static_cast<std::uint64_t>(i) << (4 * perm_axis(perm, i));
  return r;
}
// the last two axes exchanged
constexpr std::uint64_t matrix_perm(int rank) {
  std::uint64_t r = 0;
  for (int i = 0; i < rank; ++i) {
    const int from = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
    r |= static_cast<std::uint64_t>(from) << (4 * i);
  }
  return r;
}

// elements [begin, begin + extent) along one axis
constexpr int slice(graph& g, int a, int axis, extent_t begin, extent_t extent) {
  if (extent == g[a].s.d[axis]) return a;
  node v;
  v.o = op::slice;
  v.t = g[a].t;
  v.attr = static_cast<std::uint64_t>(axis);
  v.attr2 = static_cast<std::uint64_t>(begin);
  v.in[0] = a;
  v.s = g[a].s;
  v.s.d[axis] = extent;
  return g.intern(v);
}
// lo zeros before and hi zeros after along one axis
constexpr int pad(graph& g, int a, int axis, extent_t lo, extent_t hi) {
  if (lo == 0 && hi == 0) return a;
  if (g[a].s.d[axis] == 0) {
    shape s = g[a].s;
    s.d[axis] = lo + hi;
    return zeros(g, g[a].t, s);
  }
  node v;
  v.o = op::pad;
  v.t = g[a].t;
  v.attr = static_cast<std::uint64_t>(axis);
  v.attr2 = static_cast<std::uint64_t>(lo);
  v.in[0] = dense(g, a);
  v.s = g[a].s;
  v.s.d[axis] += lo + hi;
  return g.intern(v);
}
constexpr int concat(graph& g, int a, int b, int axis) {
  node v;
  v.o = op::concat;
  v.t = g[a].t;
  v.attr = static_cast<std::uint64_t>(axis);
  v.s = g[a].s;
  v.s.d[axis] += g[b].s.d[axis];
  v.in[0] = dense(g, a);
  v.in[1] = dense(g, b);
  return g.intern(v);
}

// ---- rules for values -----------------------------------------------------------------------------------------

template <int Axis, int Rank>
concept axis_in_range = Axis >= -Rank && Axis < Rank;
template <extent_t N, extent_t M>
concept same_number_of_elements = N == M;
template <shape A, shape To>
concept broadcasts_to = broadcastable(A, To) && broadcast(A, To) == To;
template <extent_t N>
concept static_extent = is_static(N);
template <extent_t Begin, extent_t End, extent_t N>
concept slice_in_range = 0 <= Begin && Begin <= End && End <= N;
template <class I>
concept integer_while_tracing = std::is_integral_v<I>;
template <extent_t Lo, extent_t Hi>
concept not_negative = Lo >= 0 && Hi >= 0;
constexpr bool permutes(std::uint64_t perm, int rank, int given) {
  unsigned seen = 0;
  for (int i = 0; i < given; ++i) seen |= 1u << perm_axis(perm, i);
  return given == rank && seen == (1u << rank) - 1u;
}
template <int Rank, int... Axes>
concept permutation_of_the_axes =
    sizeof...(Axes) == Rank && ((Axes >= -Rank && Axes < Rank) && ...) &&
    (((1u << ((Axes + Rank) % (Rank > 0 ? Rank : 1))) | ... | 0u)) == (1u << Rank) - 1u;
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
constexpr shape with_extent(shape s, int axis, extent_t n) {
  s.d[axis] = n;
  return s;
}
constexpr shape permuted(const shape& s, std::uint64_t perm) {
  shape r;
  r.rank = s.rank;
  for (int i = 0; i < s.rank; ++i) r.d[i] = s.d[perm_axis(perm, i)];
  return r;
}
template <int Rank, int... Axes> constexpr std::uint64_t packed_perm() {
  std::uint64_t p = 0;
  int i = 0;
  ((p |= static_cast<std::uint64_t>(axis_of(Axes, Rank)) << (4 * i++)), ...);
  return p;
}
// [a, b, c] -> [a, b * c],  [a] -> [a, 1],  [] -> [1]
constexpr shape flattened(const shape& s) {
  if (s.rank == 0) return shape{1, {1}};
  shape r{2, {s.d[0], 1}};
  for (int i = 1; i < s.rank; ++i) r.d[1] = times(r.d[1], s.d[i]);
  return r;
}

} // namespace detail

// reshape<N...>(a): the same elements in row-major order.    numel(a) = product of N
// Errors: a compile error where the number of elements differs. Cost: none; the reshape of a transpose, slice or
// broadcast copies.
template <extent_t... N, detail::handle A> constexpr auto reshape(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  constexpr shape to = shape_of<N...>;
  if constexpr (any_var<A>) {
    require(g, numel(g[a.id()].s) == numel(to),
            "tapeless: reshape<extents...>(a): the number of elements stays", g[a.id()].s, to);
    return var{&g, reshape(g, a.id(), to)};
  } else {
    static_assert(same_number_of_elements<numel(A::extents), numel(to)>,
                  "tapeless: reshape<extents...>(a): the number of elements stays");
    return wrap<typename A::value_type, to>(g, reshape(g, a.id(), to));
  }
}

// flatten(a): [n, ...] -> [n, product of the rest]; [n] -> [n, 1]; [] -> [1]. Cost: as reshape.
template <detail::handle A> constexpr auto flatten(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  if constexpr (any_var<A>) return var{&g, reshape(g, a.id(), flattened(g[a.id()].s))};
  else
    return wrap<typename A::value_type, flattened(A::extents)>(g, reshape(g, a.id(), flattened(A::extents)));
}

// transpose<P...>(a): axis i of the result is axis P_i of a. Without P: the last two axes are exchanged.
// Errors: compile errors. P is a permutation of a's axes; without P a has at least two. Cost: none, a view.
template <int... P, detail::handle A> constexpr auto transpose(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    const int rank = g[a.id()].s.rank;
    if constexpr (sizeof...(P) == 0) {
      require(g, rank >= 2, "tapeless: transpose(a): a has at least two axes", g[a.id()].s);
      if (!g.sound()) return var{&g, a.id()};
      return var{&g, transpose(g, a.id(), matrix_perm(rank))};
    } else {
      constexpr std::uint64_t perm = packed_perm<sizeof...(P), P...>();
      require(g, permutes(perm, rank, sizeof...(P)),
              "tapeless: transpose<axes...>(a): the axes are a permutation of a's", g[a.id()].s);
      if (!g.sound()) return var{&g, a.id()};
      return var{&g, transpose(g, a.id(), perm)};
    }
  } else if constexpr (sizeof...(P) == 0) {
    static_assert(axis_in_range<1, A::extents.rank>, "tapeless: transpose(a): a has at least two axes");
    if constexpr (A::extents.rank >= 2) {
      constexpr std::uint64_t perm = matrix_perm(A::extents.rank);
      return wrap<typename A::value_type, permuted(A::extents, perm)>(g, transpose(g, a.id(), perm));
    } else return a;
  } else {
    static_assert(permutation_of_the_axes<A::extents.rank, P...>,
                  "tapeless: transpose<axes...>(a): the axes are a permutation of a's");
    if constexpr (permutation_of_the_axes<A::extents.rank, P...>) {
      constexpr std::uint64_t perm = packed_perm<A::extents.rank, P...>();
      return wrap<typename A::value_type, permuted(A::extents, perm)>(g, transpose(g, a.id(), perm));
    } else return a;
  }
}

// slice<axis, begin, end>(a): y[.., i, ..] = a[.., begin + i, ..]    the axis has extent end - begin
// Errors: compile errors. The axis exists (negative: from the end) and is static, 0 <= begin <= end <= extent.
// Cost: none, a view.
template <int Axis, extent_t Begin, extent_t End, detail::handle A> constexpr auto slice(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    const int axis = axis_of(Axis, s.rank);
    require(g, axis >= 0 && axis < s.rank, "tapeless: slice<axis, begin, end>(a): the axis exists", s);
    if (!g.sound()) return var{&g, a.id()};
    require(g, is_static(s.d[axis]), "tapeless: slice<axis, begin, end>(a): the extent of the axis is static",
            s);
    require(g, 0 <= Begin && Begin <= End && End <= s.d[axis],
            "tapeless: slice<axis, begin, end>(a): 0 <= begin <= end <= extent", s);
    return var{&g, slice(g, a.id(), axis, Begin, End - Begin)};
  } else {
    static_assert(axis_in_range<Axis, A::extents.rank>,
                  "tapeless: slice<axis, begin, end>(a): the axis exists");
    if constexpr (axis_in_range<Axis, A::extents.rank>) {
      constexpr int axis = axis_of(Axis, A::extents.rank);
      constexpr extent_t n = A::extents.d[axis];
      static_assert(static_extent<n>,
                    "tapeless: slice<axis, begin, end>(a): the extent of the axis is static");
      static_assert(!static_extent<n> || slice_in_range<Begin, End, n>,
                    "tapeless: slice<axis, begin, end>(a): 0 <= begin <= end <= extent");
      if constexpr (static_extent<n> && slice_in_range<Begin, End, n>)
        return wrap<typename A::value_type, with_extent(A::extents, axis, End - Begin)>(
            g, slice(g, a.id(), axis, Begin, End - Begin));
      else return a;
    } else return a;
  }
}

// slice<axis, length>(a, start): y[.., i, ..] = a[.., start + i, ..]    the axis has extent length
// start is an integer that is known while tracing, as the i of a for loop; it is no template argument.
// Errors: compile errors. The axis exists (negative: from the end) and is static, 0 <= start <= extent - length. What only
// a run knows, a tensor of int32, is the index of a gather.
// Cost: none, a view.
template <int Axis, extent_t Length, detail::handle A, class I> constexpr auto slice(const A& a,
                                                                                     const I& start) {
  using namespace detail;
  static_assert(
      integer_while_tracing<I>,
      "tapeless: slice<axis, length>(a, start), at<axis>(a, i): start and i are integers that are known "
      "while tracing, as those of a for loop; of an int32 tensor it is tl::gather<axis>(a, index)");
  if constexpr (!integer_while_tracing<I>) return a;
  else {
    graph& g = graph_of(a);
    const shape s = g[a.id()].s;
    const int axis = axis_of(Axis, s.rank);
    const auto begin = static_cast<extent_t>(start);
    const auto sliced = [&] {
      const bool holds = require(
          g, 0 <= begin && begin <= s.d[axis] - Length,
          "tapeless: slice<axis, length>(a, start), at<axis>(a, i): 0 <= start <= extent - length, 0 <= i < extent",
          s, shape{1, {begin}});
      return slice(g, a.id(), axis, holds ? begin : 0, Length);
    };
    if constexpr (any_var<A>) {
      require(g, axis >= 0 && axis < s.rank,
              "tapeless: slice<axis, length>(a, start), at<axis>(a, i): the axis exists", s);
      if (!g.sound()) return a;
      require(g, is_static(s.d[axis]),
              "tapeless: slice<axis, length>(a, start), at<axis>(a, i): the extent of the axis is static", s);
      require(g, 0 <= Length && (!is_static(s.d[axis]) || Length <= s.d[axis]),
              "tapeless: slice<axis, length>(a, start), at<axis>(a, i): 0 <= length <= extent", s);
      if (!g.sound()) return a;
      return var{&g, sliced()};
    } else {
      static_assert(axis_in_range<Axis, A::extents.rank>,
                    "tapeless: slice<axis, length>(a, start), at<axis>(a, i): the axis exists");
      if constexpr (axis_in_range<Axis, A::extents.rank>) {
        constexpr int known = axis_of(Axis, A::extents.rank);
        constexpr extent_t n = A::extents.d[known];
        static_assert(
            static_extent<n>,
            "tapeless: slice<axis, length>(a, start), at<axis>(a, i): the extent of the axis is static");
        static_assert(!static_extent<n> || slice_in_range<0, Length, n>,
                      "tapeless: slice<axis, length>(a, start), at<axis>(a, i): 0 <= length <= extent");
        if constexpr (static_extent<n> && slice_in_range<0, Length, n>)
          return wrap<typename A::value_type, with_extent(A::extents, known, Length)>(g, sliced());
        else return a;
      } else return a;
    }
  }
}

// at<axis>(a, i): slice<axis, 1>(a, i) without the axis: a[i], a[:, i], ..    s = s + at<0>(x, i) in a for loop over i
// Errors and cost: as slice<axis, length>(a, start), 0 <= i < extent.
template <int Axis, detail::handle A, class I> constexpr auto at(const A& a, const I& i) {
  using namespace detail;
  const auto y = slice<Axis, 1>(a, i);
  graph& g = graph_of(y);
  const auto without_axis = [](const shape& s) { return dropped(s, 1u << axis_of(Axis, s.rank)); };
  if constexpr (any_var<A>) {
    if (!g.sound()) return y;
    return var{&g, reshape(g, y.id(), without_axis(g[y.id()].s))};
  } else if constexpr (integer_while_tracing<I> && axis_in_range<Axis, A::extents.rank>) {
    constexpr shape to = without_axis(A::extents);
    return wrap<typename A::value_type, to>(g, reshape(g, y.id(), to));
  } else return a;
}

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
// Cost: no flops; k operands are k - 1 copies, each of all elements so far.
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

// broadcast_to<N...>(a): a repeated along its axes of extent 1 and along new leading axes; the result has extents N
// Errors: a compile error where a's shape does not broadcast to N. Cost: none, a view.
template <extent_t... N, detail::handle A> constexpr auto broadcast_to(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  constexpr shape to = shape_of<N...>;
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    require(g, broadcastable(s, to) && broadcast(s, to) == to,
            "tapeless: broadcast_to<extents...>(a): a's shape broadcasts to it", s, to);
    return var{&g, expand(g, a.id(), to)};
  } else {
    static_assert(broadcasts_to<A::extents, to>,
                  "tapeless: broadcast_to<extents...>(a): a's shape broadcasts to it");
    return wrap<typename A::value_type, to>(g, expand(g, a.id(), to));
  }
}

// channel(b): [c] -> [c, 1, 1], so that a bias meets the channel axis of an image batch
// Errors: a compile error where b has not one axis. Cost: none.
template <detail::handle A> constexpr auto channel(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    require(g, g[a.id()].s.rank == 1, "tapeless: channel(b): b has one axis", g[a.id()].s);
    return var{&g, reshape(g, a.id(), shape{3, {g[a.id()].s.d[0], 1, 1}})};
  } else {
    static_assert(same_number_of_elements<A::extents.rank, 1>, "tapeless: channel(b): b has one axis");
    constexpr shape to{3, {A::extents.d[0], 1, 1}};
    return wrap<typename A::value_type, to>(g, reshape(g, a.id(), to));
  }
}

// ---- rules ----------------------------------------------------------------------------------------------------
namespace detail {

// clang-format off
inline constexpr op_rule shape_rules[] = {
  {op::expand,    "broadcast_to", kind::view,  no_flops, [](vjp_context& c) { c.give(0, c.bar); }}, // the pass sums
  {op::reshape,   "reshape",   kind::view,  no_flops, [](vjp_context& c) { c.give(0, {&c.g, reshape(c.g, c.bar.node, c.dims(0))}); }},
  {op::transpose, "transpose", kind::view,  no_flops, [](vjp_context& c) {
     c.give(0, {&c.g, transpose(c.g, c.bar.node, inverse_perm(c.v.attr, c.v.s.rank))}); }},
  {op::slice,     "slice",     kind::view,  no_flops, [](vjp_context& c) {
     const int axis = static_cast<int>(c.v.attr);
     const auto lo = static_cast<extent_t>(c.v.attr2);
     c.give(0, {&c.g, pad(c.g, c.bar.node, axis, lo, c.dims(0).d[axis] - lo - c.v.s.d[axis])}); }},
  {op::pad,       "pad",       kind::kernel, no_flops, [](vjp_context& c) {
     const int axis = static_cast<int>(c.v.attr);
     c.give(0, {&c.g, slice(c.g, c.bar.node, axis, static_cast<extent_t>(c.v.attr2), c.dims(0).d[axis])}); }},
  {op::concat,    "concat",    kind::kernel, no_flops, [](vjp_context& c) {
     const int axis = static_cast<int>(c.v.attr);
     const extent_t n = c.dims(0).d[axis];
     if (c.needs(0)) c.give(0, {&c.g, slice(c.g, c.bar.node, axis, 0, n)});
     if (c.needs(1)) c.give(1, {&c.g, slice(c.g, c.bar.node, axis, n, c.dims(1).d[axis])}); }},
};
// clang-format on

} // namespace detail
} // namespace tapeless
