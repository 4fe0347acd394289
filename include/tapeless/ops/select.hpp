// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Selections: the positions of some elements of a vector, as int32 in ascending order.
//   top_k<64>(loss), bottom_k<64>(loss), where<'k'>(loss > t), top_k_of_each<8, 10, 'k'>(loss, label)
// gather(x, rows) then keeps those rows. What is computed only from them costs that many rows, forward and adjoint: see
// plan/analysis/op_axes.hpp. A selection is a constant for derivatives.
//
// The number of rows is known at compile time, or it is data-dependent: a named extent that the run counts, with a name
// that the user gives. A sum of no rows is 0, a mean NaN, a maximum -infinity, and gradients are 0.
#pragma once
#include "index.hpp"
#include "select_node.hpp" // IWYU pragma: export

namespace tapeless {
namespace detail {

// K of top_k: a number or a percentage
template <auto K> inline constexpr bool is_percent =
    std::is_same_v<std::remove_const_t<decltype(K)>, percent>;
template <auto K> constexpr select_attributes attributes_with(selection what) {
  if constexpr (is_percent<K>) return {what, K.value, 0, 0};
  else return {what, 0, static_cast<extent_t>(K), 0};
}
template <auto K> constexpr extent_t selected_of(extent_t n) {
  if constexpr (is_percent<K>) return n == 0 ? 0 : n * K.value / 100 > 1 ? n * K.value / 100 : 1;
  else return static_cast<extent_t>(K);
}

template <int Rank>
concept is_a_vector = Rank == 1;
template <auto K>
concept a_number_or_a_percentage = is_percent<K> || std::is_integral_v<decltype(K)>;
template <auto K> constexpr bool is_count_in_range() {
  if constexpr (is_percent<K>) return K.value >= 1 && K.value <= 100;
  else return K >= 0 && K <= most_selected;
}
template <auto K>
concept count_in_range = is_count_in_range<K>();
template <auto K, extent_t N>
concept at_most_the_extent = !is_static(N) || selected_of<K>(N) <= N;
template <char Name, extent_t N>
concept named_where_counted = Name != 0 || is_static(N);
template <char Name>
concept selection_has_a_name = Name != 0;
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
template <char Name>
concept selection_is_named_by_a_letter = Name == 0 || is_letter(Name);
template <extent_t N>
concept positions_are_int32 = !is_static(N) || N <= most_selected;
template <class A>
concept k_is_given = false;
template <class C>
concept handle_or_number = handle<C> || std::is_arithmetic_v<C>;
template <class C>
concept count_is_known_at_run_only = !std::is_arithmetic_v<C>;
template <extent_t Segments>
concept segments_in_range = Segments >= 1 && Segments <= most_selected;
template <bool Fits>
concept count_is_an_int32 = Fits;
template <bool Fits>
concept segment_of_each_value = Fits;
template <bool Fits>
concept mask_is_a_vector_of_bool = Fits;
template <char Name> constexpr extent_t count_named() {
  if constexpr (is_letter(Name)) return dyn<Name>;
  else return 0;
}

// The rules that all selections by order share.
template <auto K, char Name, class A> constexpr bool may_select() {
  static_assert(
      typed_handle<A>,
      "tapeless: top_k<k>(values): values is a tensor; a var is converted with as<T, extents...>()");
  if constexpr (typed_handle<A>) {
    static_assert(arithmetic<typename A::value_type>,
                  "tapeless: top_k<k>(values): the element type is float, double or int32");
    static_assert(is_a_vector<A::extents.rank>, "tapeless: top_k<k>(values): values has one axis");
    static_assert(a_number_or_a_percentage<K>,
                  "tapeless: top_k<k>(values): k is an integer or tl::percent{p}");
    if constexpr (arithmetic<typename A::value_type> && is_a_vector<A::extents.rank> &&
                  a_number_or_a_percentage<K>) {
      constexpr extent_t n = A::extents.d[0];
      static_assert(count_in_range<K>,
                    "tapeless: top_k<k>(values): 0 <= k < 2^31, and a percentage is 1 to 100");
      static_assert(at_most_the_extent<K, n>,
                    "tapeless: top_k<k>(values): k is at most the extent of values");
      static_assert(
          named_where_counted<Name, n>,
          "tapeless: top_k<k>(values): for values of a named extent the selection has a name, as in "
          "top_k<k, 'k'>(values)");
      static_assert(selection_is_named_by_a_letter<Name>,
                    "tapeless: top_k<k, 'k'>(values): the name is a letter");
      static_assert(
          positions_are_int32<n>,
          "tapeless: top_k<k>(values): values has fewer than 2^31 elements, for positions are int32");
      return count_in_range<K> && at_most_the_extent<K, n> && named_where_counted<Name, n> &&
             selection_is_named_by_a_letter<Name> && positions_are_int32<n>;
    }
  }
  return false;
}
// What a misuse returns: an index, so that an op that reads it breaks no further rule.
template <class A> constexpr auto no_rows(const A& a) {
  constexpr shape s{1, {1}};
  graph& g = graph_of(a);
  return wrap<std::int32_t, s>(g, iota(g, s));
}
// second: the run-time k, or the segment of each element
template <selection What, auto K, char Name, residual Rows, class A>
constexpr auto select_by_order(const A& a, int second = no_node, extent_t segments = 0) {
  if constexpr (may_select<K, Name, A>()) {
    constexpr extent_t count = Name != 0 ? count_named<Name>() : selected_of<K>(A::extents.d[0]);
    constexpr shape s{1, {count}};
    select_attributes q = attributes_with<K>(What);
    q.segments = segments;
    q.rows = Rows;
    graph& g = graph_of(a);
    return wrap<std::int32_t, s>(g, select(g, a.id(), second, q, count));
  } else return no_rows(a);
}
// A count that is an argument is checked before the first step, like an index; select clamps a computed one.
template <auto K> constexpr int checked_count(graph& g, int count) {
  if constexpr (std::is_integral_v<std::remove_cv_t<decltype(K)>>)
    if (is_view_of_argument(g, count)) return checked_index(g, count, static_cast<extent_t>(K) + 1);
  return count;
}
template <selection What, auto K, char Name, residual Rows, class A, class C>
constexpr auto select_counted(const A& a, const C& count) {
  constexpr bool number = [] {
    if constexpr (typed_handle<C>) return C::extents.rank == 0 && index_type<typename C::value_type>;
    else return false;
  }();
  static_assert(
      count_is_known_at_run_only<C>,
      "tapeless: top_k<k, 'k'>(values, count): a number that the program knows is k, as in top_k<5, 'k'>(values)");
  constexpr bool number_or_known = number || std::is_arithmetic_v<C>;
  static_assert(count_is_an_int32<number_or_known>,
                "tapeless: top_k<k, 'k'>(values, count): count is an int32 of rank 0");
  static_assert(selection_has_a_name<Name>,
                "tapeless: top_k<k, 'k'>(values, count): the selection has a name, as in top_k<64, 'k'>");
  static_assert(!is_percent<K>,
                "tapeless: top_k<k, 'k'>(values, count): k is a number, the most that count may be");
  if constexpr (number && Name != 0 && !is_percent<K>)
    return select_by_order<What, K, Name, Rows>(a, checked_count<K>(graph_of(a), count.id()));
  else return no_rows(a);
}
template <selection What, auto K, extent_t Segments, char Name, residual Rows, class A, class S>
constexpr auto select_of_each(const A& a, const S& segment) {
  constexpr bool like_values = [] {
    if constexpr (typed_handle<S> && typed_handle<A>)
      return S::extents == A::extents && index_type<typename S::value_type>;
    else return false;
  }();
  static_assert(
      segment_of_each_value<like_values>,
      "tapeless: top_k_of_each<k, segments, 'k'>(values, segment): segment is int32 and has the extent of values");
  static_assert(segments_in_range<Segments>,
                "tapeless: top_k_of_each<k, segments, 'k'>(values, segment): 1 <= segments < 2^31");
  static_assert(
      selection_has_a_name<Name>,
      "tapeless: top_k_of_each<k, segments, 'k'>(values, segment): the selection has a name, behind k and how many segments there are");
  static_assert(!is_percent<K>, "tapeless: top_k_of_each<k, segments, 'k'>(values, segment): k is a number");
  if constexpr (like_values && Segments >= 1 && Segments <= most_selected && Name != 0 && !is_percent<K>)
    return select_by_order<What, K, Name, Rows>(a, segment.id(), Segments);
  else return no_rows(a);
}

template <class A> constexpr auto select_without_k(const A& a) {
  static_assert(k_is_given<A>,
                "tapeless: top_k<k>(values): k is a template argument, as in top_k<64>(values)");
  return no_rows(a);
}
template <class A> constexpr auto select_of_each_without_k(const A& a) {
  static_assert(k_is_given<A>,
                "tapeless: top_k_of_each<k, segments, 'k'>(values, segment): k and segments are "
                "template arguments, as in top_k_of_each<5, 10, 'k'>(values, segment)");
  return no_rows(a);
}

} // namespace detail

// rows = top_k<k>(values): the positions of the k greatest elements, ascending by position (not by value)
//   (n) -> (k) int32; k: a number, or tl::percent{p} of n, rounded down but at least 1
// rows = top_k<k, 'k'>(values): min(k, n) positions, for values of a named extent; the run counts them under that name
// rows = top_k<k, 'k'>(values, count): min(count, n) of them, count an int32 of the run, 0 to k
// bottom_k: the k smallest.
// Ties: lower positions first. NaN counts as the greatest value; -0 equals 0.
// Errors: compile errors. values has one axis and is float, double or int32; k <= n if n is static; no argument and no
// other selection has the name.
// Cost: no flops; a few passes over values. gather(x, rows) and what follows cost k rows, forward and adjoint.
// clang-format off
template <auto K, char Name = 0, detail::handle A, detail::residual_tag... R>
constexpr auto top_k(const A& values, R...) { return detail::select_by_order<detail::selection::top, K, Name, detail::residual_of<R...>()>(values); }
template <auto K, char Name = 0, detail::handle A, detail::handle_or_number C, detail::residual_tag... R>
constexpr auto top_k(const A& values, const C& count, R...) { return detail::select_counted<detail::selection::top, K, Name, detail::residual_of<R...>()>(values, count); }
template <detail::handle A, class... C> constexpr auto top_k(const A& values, const C&...) { return detail::select_without_k(values); }
template <auto K, char Name = 0, detail::handle A, detail::residual_tag... R>
constexpr auto bottom_k(const A& values, R...) { return detail::select_by_order<detail::selection::bottom, K, Name, detail::residual_of<R...>()>(values); }
template <auto K, char Name = 0, detail::handle A, detail::handle_or_number C, detail::residual_tag... R>
constexpr auto bottom_k(const A& values, const C& count, R...) { return detail::select_counted<detail::selection::bottom, K, Name, detail::residual_of<R...>()>(values, count); }
template <detail::handle A, class... C> constexpr auto bottom_k(const A& values, const C&...) { return detail::select_without_k(values); }

// rows = top_k_of_each<k, segments, 'k'>(values, segment): the k greatest elements of each segment (class, image), or
// all if it has fewer; ascending by position. segment[i] in [0, segments) is that of element i; other numbers are no
// segment.
//   (n), (n) int32 -> (k) int32, k counted by the run
template <auto K, extent_t Segments, char Name = 0, detail::handle A, detail::handle S, detail::residual_tag... R>
constexpr auto top_k_of_each(const A& values, const S& segment, R...) { return detail::select_of_each<detail::selection::top_of_each, K, Segments, Name, detail::residual_of<R...>()>(values, segment); }
template <auto K, extent_t Segments, char Name = 0, detail::handle A, detail::handle S, detail::residual_tag... R>
constexpr auto bottom_k_of_each(const A& values, const S& segment, R...) { return detail::select_of_each<detail::selection::bottom_of_each, K, Segments, Name, detail::residual_of<R...>()>(values, segment); }
template <detail::handle A, class... C> constexpr auto top_k_of_each(const A& values, const C&...) { return detail::select_of_each_without_k(values); }
template <detail::handle A, class... C> constexpr auto bottom_k_of_each(const A& values, const C&...) { return detail::select_of_each_without_k(values); }
template <auto K, detail::handle A, class... C> constexpr auto top_k_of_each(const A& values, const C&...) { return detail::select_of_each_without_k(values); }
template <auto K, detail::handle A, class... C> constexpr auto bottom_k_of_each(const A& values, const C&...) { return detail::select_of_each_without_k(values); }
template <auto K, extent_t Segments, char Name = 0, detail::handle A> constexpr auto top_k_of_each(const A& values) { return detail::select_of_each_without_k(values); }
template <auto K, extent_t Segments, char Name = 0, detail::handle A> constexpr auto bottom_k_of_each(const A& values) { return detail::select_of_each_without_k(values); }
// clang-format on

// rows = where<'k'>(mask): the positions where mask is true, ascending; the run counts them under that name
//   (n) bool -> (k) int32
// Errors and cost: as top_k.
template <char Name = 0, detail::handle A, detail::residual_tag... R>
constexpr auto where(const A& mask, R...) {
  using namespace detail;
  constexpr bool fits = [] {
    if constexpr (typed_handle<A>) return A::extents.rank == 1 && boolean<typename A::value_type>;
    else return false;
  }();
  static_assert(mask_is_a_vector_of_bool<fits>,
                "tapeless: where<'k'>(mask): mask is bool and has one axis, as w != 0");
  static_assert(selection_has_a_name<Name>,
                "tapeless: where<'k'>(mask): the selection has a name, for the run counts it");
  static_assert(selection_is_named_by_a_letter<Name>, "tapeless: where<'k'>(mask): the name is a letter");
  constexpr extent_t n = [] {
    if constexpr (fits) return A::extents.d[0];
    else return extent_t{0};
  }();
  static_assert(positions_are_int32<n>,
                "tapeless: where<'k'>(mask): mask has fewer than 2^31 elements, for positions are int32");
  if constexpr (fits && is_letter(Name) && positions_are_int32<n>) {
    graph& g = graph_of(mask);
    constexpr shape s{1, {dyn<Name>}};
    return wrap<std::int32_t, s>(g, select(g, mask.id(), no_node, {.rows = residual_of<R...>()}, s.d[0]));
  } else return no_rows(mask);
}

namespace detail {

inline constexpr op_rule select_rules[] = {{op::select, "select", kind::kernel, no_flops, no_facts}};

} // namespace detail
} // namespace tapeless
