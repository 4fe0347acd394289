// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// slice, at: elements of an axis. A view: it computes nothing.
#pragma once
#include "views.hpp"

namespace tapeless {
namespace detail {

template <extent_t Begin, extent_t End, extent_t N>
concept slice_in_range = 0 <= Begin && Begin <= End && End <= N;
template <class I>
concept integer_while_tracing = std::is_integral_v<I>;

} // namespace detail

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
// start is an integer that is known while tracing, as the i of a for loop; it is not a template argument. An int32
// tensor, known only at run time, is the index of a gather.
// Errors: compile errors. The axis exists (negative: from the end) and is static, 0 <= start <= extent - length.
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

} // namespace tapeless
