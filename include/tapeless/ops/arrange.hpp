// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Arrangements of elements that are written with other moves: axes of extent 1, parts, repetitions, rolls, steps, borders. Their
// derivatives are those of the moves.
#pragma once
#include <array>
#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>
#include "../core/tree.hpp"
#include "elementwise.hpp"
#include "index.hpp"
#include "reduce.hpp"
#include "shape.hpp"
#include "slice.hpp"

namespace tapeless {

// Tags of pad: what stands beyond the ends
struct reflect_t {};
struct edge_t {};
struct wrap_t {};
inline constexpr reflect_t reflect{};  // a mirrored at its first and last element, which are not repeated
inline constexpr edge_t edge{};        // the first and the last element
inline constexpr wrap_t wrap_around{}; // a once more

// tl::fill_value(v), a tag of pad, too: the number v stands beyond the ends
template <detail::number N> struct fill_value {
  N value;
  constexpr explicit fill_value(N v) : value(v) {}
};

namespace detail {

// A rule: takes(shape), result(shape), build(graph, a). `a`, arranged by it, in its type
template <class Rule, class A>
concept arrangeable = any_var<A> || Rule::takes(A::extents);
template <class Rule, handle A> constexpr auto arranged(const A& a, const char* rule) {
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    if (!require(g, Rule::takes(g[a.id()].s), rule, g[a.id()].s)) return var{&g, a.id()};
    return var{&g, Rule::build(g, a.id())};
  } else if constexpr (Rule::takes(A::extents))
    return wrap<typename A::value_type, Rule::result(A::extents)>(g, Rule::build(g, a.id()));
  else return a;
}

constexpr bool has_axis(const shape& s, int axis) { return axis >= -s.rank && axis < s.rank; }
constexpr bool has_static_axis(const shape& s, int axis) {
  return has_axis(s, axis) && is_static(s.d[axis_of(axis, s.rank)]);
}
constexpr shape with_axis(const shape& s, int axis, extent_t n) { // a further one, ahead of `axis`
  shape r{s.rank + 1, {}};
  for (int i = 0; i < r.rank; ++i) r.d[i] = i < axis ? s.d[i] : i == axis ? n : s.d[i - 1];
  return r;
}
constexpr shape without_axis(const shape& s, int axis) { return dropped(s, 1u << axis); }

template <int Axis> struct expand_dims_rule {
  static constexpr int at(const shape& s) { return Axis < 0 ? Axis + s.rank + 1 : Axis; }
  static constexpr bool takes(const shape& s) { return s.rank < max_rank && at(s) >= 0 && at(s) <= s.rank; }
  static constexpr shape result(const shape& s) { return with_axis(s, at(s), 1); }
  static constexpr int build(graph& g, int a) { return reshape(g, a, result(g[a].s)); }
};
template <int Axis> struct squeeze_rule {
  static constexpr bool takes(const shape& s) { return has_axis(s, Axis) && s.d[axis_of(Axis, s.rank)] == 1; }
  static constexpr shape result(const shape& s) { return without_axis(s, axis_of(Axis, s.rank)); }
  static constexpr int build(graph& g, int a) { return reshape(g, a, result(g[a].s)); }
};
// n copies of the axis: whole ones behind one another, or each element n times
template <int Axis, extent_t N, bool Each> struct copies_rule {
  static constexpr bool takes(const shape& s) { return has_axis(s, Axis) && s.rank < max_rank; }
  static constexpr shape result(const shape& s) {
    const int axis = axis_of(Axis, s.rank);
    return with_extent(s, axis, times(s.d[axis], N));
  }
  static constexpr int build(graph& g, int a) {
    const shape s = g[a].s;
    const int axis = axis_of(Axis, s.rank), at = axis + (Each ? 1 : 0);
    return reshape(g, expand(g, reshape(g, a, with_axis(s, at, 1)), with_axis(s, at, N)), result(s));
  }
};
template <int Axis, int N> struct split_rule {
  static constexpr extent_t length(const shape& s) { return s.d[axis_of(Axis, s.rank)] / N; }
  static constexpr bool takes(const shape& s) {
    return N > 0 && has_static_axis(s, Axis) && s.d[axis_of(Axis, s.rank)] % N == 0;
  }
  static constexpr shape result(const shape& s) { return with_extent(s, axis_of(Axis, s.rank), length(s)); }
  static constexpr int build(graph& g, int a, int k) {
    const extent_t n = length(g[a].s);
    return slice(g, a, axis_of(Axis, g[a].s.rank), k * n, n);
  }
};
template <int Axis, extent_t Shift> struct roll_rule {
  static constexpr bool takes(const shape& s) { return has_static_axis(s, Axis); }
  static constexpr shape result(const shape& s) { return s; }
  static constexpr int build(graph& g, int a) {
    const int axis = axis_of(Axis, g[a].s.rank);
    const extent_t n = g[a].s.d[axis], shift = n == 0 ? 0 : (Shift % n + n) % n;
    if (shift == 0) return a;
    return concat(g, slice(g, a, axis, n - shift, shift), slice(g, a, axis, 0, n - shift), axis);
  }
};
// Elements begin, begin + step, ... ahead of end; a step below 0 goes back, from begin down to, and without, end
template <int Axis, extent_t Begin, extent_t End, extent_t Step> struct steps_rule {
  static constexpr extent_t count = Step > 0 ? (End > Begin ? (End - Begin + Step - 1) / Step : 0)
                                             : (Begin > End ? (Begin - End - Step - 1) / -Step : 0);
  static constexpr bool takes(const shape& s) {
    if (!has_static_axis(s, Axis) || s.rank == max_rank) return false;
    const extent_t n = s.d[axis_of(Axis, s.rank)];
    return Step > 0 ? Begin >= 0 && Begin <= End && End <= n : End >= -1 && End <= Begin && Begin < n;
  }
  static constexpr shape result(const shape& s) { return with_extent(s, axis_of(Axis, s.rank), count); }
  static constexpr int build(graph& g, int a) {
    const int axis = axis_of(Axis, g[a].s.rank);
    const extent_t n = g[a].s.d[axis], step = Step > 0 ? Step : -Step,
                   begin = Step > 0 ? Begin : n - 1 - Begin;
    int b = Step > 0 ? a : flip(g, a, axis);
    if (step == 1) return slice(g, b, axis, begin, count);
    if (begin + count * step > n)
      b = pad(g, b, axis, 0, begin + count * step - n); // the last step is not whole
    b = slice(g, b, axis, begin, count * step);
    const shape s = g[b].s;
    b = reshape(g, b, with_axis(with_extent(s, axis, step), axis, count));
    return reshape(g, slice(g, b, axis + 1, 0, 1), with_extent(s, axis, count));
  }
};
template <class Mode, int Axis, extent_t Before, extent_t After> struct border_rule {
  static constexpr extent_t more = Before > After ? Before : After;
  static constexpr bool takes(const shape& s) {
    if (!has_static_axis(s, Axis)) return false;
    const extent_t n = s.d[axis_of(Axis, s.rank)];
    return more == 0 || (std::is_same_v<Mode, edge_t>   ? n > 0
                         : std::is_same_v<Mode, wrap_t> ? more <= n
                                                        : more < n);
  }
  static constexpr shape result(const shape& s) {
    const int axis = axis_of(Axis, s.rank);
    return with_extent(s, axis, s.d[axis] + Before + After);
  }
  // `count` elements of a from `begin`, or their mirror image, or one of them, repeated
  static constexpr int part(graph& g, int a, int axis, extent_t begin, extent_t count) {
    if constexpr (std::is_same_v<Mode, edge_t>)
      return expand(g, slice(g, a, axis, begin, 1), with_extent(g[a].s, axis, count));
    else if constexpr (std::is_same_v<Mode, reflect_t>) return flip(g, slice(g, a, axis, begin, count), axis);
    else return slice(g, a, axis, begin, count);
  }
  static constexpr int build(graph& g, int a) {
    const int axis = axis_of(Axis, g[a].s.rank);
    const extent_t n = g[a].s.d[axis];
    constexpr bool mirror = std::is_same_v<Mode, reflect_t>, repeat = std::is_same_v<Mode, edge_t>;
    int r = a;
    if (Before > 0) r = concat(g, part(g, a, axis, mirror ? 1 : repeat ? 0 : n - Before, Before), r, axis);
    if (After > 0)
      r = concat(g, r, part(g, a, axis, mirror ? n - 1 - After : repeat ? n - 1 : 0, After), axis);
    return r;
  }
};

template <class N, class T>
concept fills = floating_point<T> || (arithmetic<T> && std::integral<N>);
// `border` is a scalar. Not a sum: beside an infinite number 0 would be NaN.
template <int Axis, extent_t Before, extent_t After> constexpr int with_border(graph& g, int a, int border) {
  const shape s = g[a].s;
  const int axis = axis_of(Axis, s.rank);
  const auto part = [&](extent_t count) { return expand(g, border, with_extent(s, axis, count)); };
  if (s.d[axis] == 0) return part(Before + After);
  int r = a;
  if (Before > 0) r = concat(g, part(Before), r, axis);
  if (After > 0) r = concat(g, r, part(After), axis);
  return r;
}
template <class Mode>
concept border_mode =
    std::is_same_v<Mode, reflect_t> || std::is_same_v<Mode, edge_t> || std::is_same_v<Mode, wrap_t>;
} // namespace detail

// ---- what the user writes -------------------------------------------------------------------------------------
// Errors: compile errors. Cost: no flops; a view where it says so, else one copy.

// expand_dims<axis>(a): an axis of extent 1, which is `axis` of the result. A view
template <int Axis, detail::handle A> constexpr auto expand_dims(const A& a) {
  using rule = detail::expand_dims_rule<Axis>;
  static_assert(detail::arrangeable<rule, A>,
                "tapeless: expand_dims<axis>(a): the result has the axis, and at most 6");
  return detail::arranged<rule>(a, "tapeless: expand_dims<axis>(a): the result has the axis, and at most 6");
}
// squeeze<axis>(a): a without this axis, whose extent is 1. A view
template <int Axis, detail::handle A> constexpr auto squeeze(const A& a) {
  using rule = detail::squeeze_rule<Axis>;
  static_assert(detail::arrangeable<rule, A>,
                "tapeless: squeeze<axis>(a): the axis exists and has the extent 1");
  return detail::arranged<rule>(a, "tapeless: squeeze<axis>(a): the axis exists and has the extent 1");
}
// stack<axis>(a, b, ...): tensors of one shape along a new axis
template <int Axis, detail::handle A, detail::handle... B> constexpr auto stack(const A& a, const B&... b) {
  if constexpr (sizeof...(B) == 0) return expand_dims<Axis>(a);
  else return concat<Axis>(expand_dims<Axis>(a), expand_dims<Axis>(b)...);
}
// split<axis, n>(a): a std::array of n equal parts, views
template <int Axis, int N, detail::handle A> constexpr auto split(const A& a) {
  using namespace detail;
  using rule = split_rule<Axis, N>;
  static_assert(arrangeable<rule, A>,
                "tapeless: split<axis, n>(a): the axis exists and is static, and n divides it");
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    const bool sound = require(
        g, rule::takes(s), "tapeless: split<axis, n>(a): the axis exists and is static, and n divides it", s);
    std::array<var, N> part;
    for (int k = 0; k < N; ++k)
      part[static_cast<std::size_t>(k)] = {&g, sound ? rule::build(g, a.id(), k) : a.id()};
    return part;
  } else if constexpr (rule::takes(A::extents)) {
    return [&]<int... K>(std::integer_sequence<int, K...>) {
      return std::array{
          wrap<typename A::value_type, rule::result(A::extents)>(g, rule::build(g, a.id(), K))...};
    }(std::make_integer_sequence<int, N>{});
  } else return std::array<A, static_cast<std::size_t>(N > 0 ? N : 1)>{};
}
// tile<axis, n>(a): a n times behind one another.   repeat<axis, n>(a): each element of the axis n times
template <int Axis, extent_t N, detail::handle A> constexpr auto tile(const A& a) {
  using rule = detail::copies_rule<Axis, N, false>;
  static_assert(detail::arrangeable<rule, A>,
                "tapeless: tile<axis, n>(a): the axis exists, and a has at most 5");
  return detail::arranged<rule>(a, "tapeless: tile<axis, n>(a): the axis exists, and a has at most 5");
}
template <int Axis, extent_t N, detail::handle A> constexpr auto repeat(const A& a) {
  using rule = detail::copies_rule<Axis, N, true>;
  static_assert(detail::arrangeable<rule, A>,
                "tapeless: repeat<axis, n>(a): the axis exists, and a has at most 5");
  return detail::arranged<rule>(a, "tapeless: repeat<axis, n>(a): the axis exists, and a has at most 5");
}
// roll<axis, shift>(a): y[.., i, ..] = a[.., (i - shift) mod n, ..]
template <int Axis, extent_t Shift, detail::handle A> constexpr auto roll(const A& a) {
  using rule = detail::roll_rule<Axis, Shift>;
  static_assert(detail::arrangeable<rule, A>,
                "tapeless: roll<axis, shift>(a): the axis exists and is static");
  return detail::arranged<rule>(a, "tapeless: roll<axis, shift>(a): the axis exists and is static");
}
// slice<axis, begin, end, step>(a): elements begin, begin + step, ... ahead of end. step < 0: back from begin, end is left out
// and may be -1
template <int Axis, extent_t Begin, extent_t End, extent_t Step, detail::handle A> constexpr auto slice(
    const A& a) {
  static_assert(Step != 0, "tapeless: slice<axis, begin, end, step>(a): the step is not 0");
  if constexpr (Step != 0) {
    using rule = detail::steps_rule<Axis, Begin, End, Step>;
    static_assert(
        detail::arrangeable<rule, A>,
        "tapeless: slice<axis, begin, end, step>(a): the axis exists and is static, a has at most 5; 0 <= begin <= end <= "
        "extent, or, of a step below 0, -1 <= end <= begin < extent");
    return detail::arranged<rule>(
        a,
        "tapeless: slice<axis, begin, end, step>(a): the axis exists and is static, a has at most 5; 0 <= begin <= end <= extent, "
        "or, of a step below 0, -1 <= end <= begin < extent");
  } else return a;
}
// pad<axis, before, after>(a, tl::reflect), (a, tl::edge), (a, tl::wrap_around): the border is made of a's own elements
template <int Axis, extent_t Before, extent_t After, detail::handle A, class Mode>
  requires detail::border_mode<Mode>
constexpr auto pad(const A& a, Mode) {
  static_assert(detail::not_negative<Before, After>,
                "tapeless: pad<axis, before, after>(a): before and after are not negative");
  using rule = detail::border_rule<Mode, Axis, Before, After>;
  static_assert(
      detail::arrangeable<rule, A>,
      "tapeless: pad<axis, before, after>(a, mode): the axis exists and is static, and is long enough for the border");
  return detail::arranged<rule>(
      a,
      "tapeless: pad<axis, before, after>(a, mode): the axis exists and is static, and is long enough for the border");
}
// pad<axis, before, after>(a, tl::fill_value(v)): v beyond the ends; a is float, double or int32, v of int32 an integer
template <int Axis, extent_t Before, extent_t After, detail::handle A, class N>
constexpr auto pad(const A& a, fill_value<N> border) {
  using namespace detail;
  const auto zeros_beyond = pad<Axis, Before, After>(a); // its rules are those of this op; nothing reads it
  graph& g = graph_of(a);
  static_assert(
      any_var<A> || fills<N, value_type_t<A>>,
      "tapeless: pad<axis, before, after>(a, tl::fill_value(v)): a is float or double, or int32 and v an integer; cast a first");
  if constexpr (any_var<A>) {
    if (!require(
            g, is_float(a.type()) || (a.type() == dtype::i32 && !std::is_floating_point_v<N>),
            "tapeless: pad<axis, before, after>(a, tl::fill_value(v)): a is float or double, or int32 and v an integer; cast a first"))
      return zeros_beyond;
  }
  decltype(pad<Axis, Before, After>(a)) r = zeros_beyond;
  const auto border_node = [&] { return lift(g, border.value, g[a.id()].t); };
  if constexpr (any_var<A>) {
    if (g.sound()) r = var{&g, with_border<Axis, Before, After>(g, a.id(), border_node())};
  } else if constexpr (axis_in_range<Axis, A::extents.rank> && fills<N, value_type_t<A>>)
    if constexpr (is_static(A::extents.d[axis_of(Axis, A::extents.rank)]))
      r = wrap<typename A::value_type,
               with_extent(A::extents, axis_of(Axis, A::extents.rank),
                           A::extents.d[axis_of(Axis, A::extents.rank)] + Before + After)>(
          g, with_border<Axis, Before, After>(g, a.id(), border_node()));
  return r;
}

} // namespace tapeless
