// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The node of a selection: its attributes, and how many rows it may have. The ops are those of select.hpp.
#pragma once
#include "index.hpp"

namespace tapeless {

// percent{25} of the elements, rounded down, but at least one.
struct percent {
  int value;
};
// Tags, the last argument: top_k<64>(values, recompute), where<'k'>(mask, retain). They say where the adjoint gets the
// values of the selected rows. recompute: from the arguments, with less memory and the flops of their forward pass
// again. retain: from what the forward pass stored for all rows. Without a tag the back end's cost model chooses.
struct recompute_t {};
inline constexpr recompute_t recompute{};
struct retain_t {};
inline constexpr retain_t retain{};

namespace detail {

enum class selection : std::uint8_t { where, top, bottom, top_of_each, bottom_of_each }; // even: the smallest

// Where the adjoint gets the values of selected rows.
enum class residual : std::uint8_t { by_cost, recomputed, retained };

template <class R>
concept residual_tag = std::is_same_v<R, recompute_t> || std::is_same_v<R, retain_t>;
template <class... R> inline constexpr bool one_tag = sizeof...(R) < 2;
template <class... R> constexpr residual residual_of() {
  static_assert(one_tag<R...>, "tapeless: top_k<k>(values, tag): one tag, tl::retain or tl::recompute");
  if constexpr (sizeof...(R) == 0) return residual::by_cost;
  else return (std::is_same_v<R, recompute_t> && ...) ? residual::recomputed : residual::retained;
}

// attr of op::select: the selection, the percentage if any, and the residuals; attr2: k and the number of segments
struct select_attributes {
  selection what = selection::where;
  int percentage = 0;
  extent_t k = 0, segments = 0;
  residual rows = residual::by_cost;
  // as integers: for enumerations the compiler would consider every == on handles
  constexpr bool is_open() const { return static_cast<int>(rows) == static_cast<int>(residual::by_cost); }
  constexpr bool recomputes() const {
    return static_cast<int>(rows) == static_cast<int>(residual::recomputed);
  }
  constexpr bool by_order() const { return static_cast<int>(what) > 0; }
  constexpr bool least() const { return static_cast<int>(what) % 2 == 0; } // @pre by_order()
  // The count of n > 0 values, if the run asks for no fewer.   @pre by_order(), without segments
  constexpr extent_t most_of(extent_t n) const {
    return percentage == 0 ? k : n * percentage / 100 > 1 ? n * percentage / 100 : 1;
  }
};
inline constexpr extent_t most_selected = (extent_t{1} << 31) - 1;
// v: a node or a step
template <class V> constexpr select_attributes attributes_of_select(const V& v) {
  return {static_cast<selection>(v.attr & 255), static_cast<int>((v.attr >> 8) & 255),
          static_cast<extent_t>(v.attr2 & 0xffffffffu), static_cast<extent_t>(v.attr2 >> 32),
          static_cast<residual>((v.attr >> 16) & 3)};
}
// second: the run-time k, or the segment of each element
constexpr int select(graph& g, int a, int second, const select_attributes& q, extent_t count) {
  if (q.by_order() && q.segments == 0 && second < 0 && is_static(count) &&
      g[a].s == shape{1, {count}}) // all of them, in order
    return iota(g, shape{1, {count}});
  node v;
  v.o = op::select;
  v.t = dtype::i32;
  v.attr = static_cast<std::uint64_t>(q.what) | static_cast<std::uint64_t>(q.percentage) << 8 |
           static_cast<std::uint64_t>(q.rows) << 16;
  v.attr2 = static_cast<std::uint64_t>(q.k) | static_cast<std::uint64_t>(q.segments) << 32;
  v.in[0] = dense(g, a);
  v.in[1] = second < 0 ? no_node : dense(g, second);
  v.s = shape{1, {count}};
  if (!is_static(count)) g.learn_count(count);
  return g.intern(v);
}
// The most rows it can have, however many elements there are.
constexpr extent_t most_of_select(const node& v) {
  const select_attributes q = attributes_of_select(v);
  if (!q.by_order() || q.percentage > 0) return most_selected;
  return q.segments > 0 && q.k > most_selected / q.segments ? most_selected
         : q.segments > 0                                   ? q.k * q.segments
                                                            : q.k;
}

} // namespace detail
} // namespace tapeless
