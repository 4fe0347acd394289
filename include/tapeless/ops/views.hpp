// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Views: ops that compute nothing; their consumers read through them.
//   reshape, flatten, transpose, broadcast_to, channel
#pragma once
#include "elementwise.hpp"
#include "shape_nodes.hpp" // IWYU pragma: export

namespace tapeless {
namespace detail {

template <int Axis, int Rank>
concept axis_in_range = Axis >= -Rank && Axis < Rank;
template <extent_t N, extent_t M>
concept same_number_of_elements = N == M;
template <shape A, shape To>
concept broadcasts_to = broadcasts_onto(A, To);
template <extent_t N>
concept static_extent = is_static(N);
constexpr bool permutes(std::uint64_t perm, int rank, int given) {
  unsigned seen = 0;
  for (int i = 0; i < given; ++i) seen |= 1u << perm_axis(perm, i);
  return given == rank && seen == (1u << rank) - 1u;
}
template <int Rank, int... Axes>
concept permutation_of_the_axes =
    sizeof...(Axes) == Rank && ((Axes >= -Rank && Axes < Rank) && ...) &&
    (((1u << ((Axes + Rank) % (Rank > 0 ? Rank : 1))) | ... | 0u)) == (1u << Rank) - 1u;
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
// Errors: a compile error if the number of elements differs. Cost: none; but the reshape of a transpose, slice or
// broadcast is a copy.
template <auto... N, detail::handle A> constexpr auto reshape(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  constexpr shape to = shape_of<detail::extent_of(N)...>;
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

// broadcast_to<N...>(a): a repeated along its axes of extent 1 and along new leading axes; the result has extents N
// Errors: a compile error if a's shape does not broadcast to N. Cost: none, a view.
template <auto... N, detail::handle A> constexpr auto broadcast_to(const A& a) {
  using namespace detail;
  graph& g = graph_of(a);
  constexpr shape to = shape_of<detail::extent_of(N)...>;
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    require(g, broadcasts_onto(s, to), "tapeless: broadcast_to<extents...>(a): a's shape broadcasts to it", s,
            to);
    return var{&g, expand(g, a.id(), to)};
  } else {
    static_assert(broadcasts_to<A::extents, to>,
                  "tapeless: broadcast_to<extents...>(a): a's shape broadcasts to it");
    return wrap<typename A::value_type, to>(g, expand(g, a.id(), to));
  }
}

// channel(b): [c] -> [c, 1, 1], so that a bias meets the channel axis of an image batch
// Errors: a compile error unless b has one axis. Cost: none.
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

} // namespace tapeless
