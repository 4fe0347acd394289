// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// softmax, log_softmax over the last axis (or a named one); losses.
// They are written in terms of other ops, so that their derivatives fuse with the ops around them.
#pragma once
#include <limits>
#include "reduce.hpp"

namespace tapeless {

// softmax_cross_entropy<ignore_label{255}>(logits, label): rows with this label have the loss 0.
struct ignore_label {
  std::int32_t value = 0;
  bool given = false;
  constexpr ignore_label() = default;
  constexpr explicit ignore_label(std::int32_t label) : value(label), given(true) {}
  constexpr ignore_label(std::int32_t label, bool g)
      : value(label), given(g) {} // as nvcc writes a template argument
};

// Tag: softmax of a row that is all -inf, masked as a whole, is 0.
struct masked_rows_zero_t {};
inline constexpr masked_rows_zero_t masked_rows_zero{};

namespace detail {

template <shape Logits, shape Labels>
concept one_label_for_each_row =
    Logits.rank >= 1 && dropped(Logits, 1u << (Logits.rank > 0 ? Logits.rank - 1 : 0)) == Labels;

// for labels that the program computes: 0 if the label is a class, NaN otherwise
constexpr int nan_of_other_labels(graph& g, int label, extent_t classes, dtype t) {
  const int low = binary(g, op::lt, label, g.constant(0, dtype::i32));
  const int high = binary(g, op::gt, label,
                          binary(g, op::sub, g.extent_value(classes, dtype::i32), g.constant(1, dtype::i32)));
  const int nan = g.constant(std::numeric_limits<double>::quiet_NaN(), t);
  return where(g, unary(g, op::logical_not, binary(g, op::logical_or, low, high), dtype::boolean),
               g.constant(0, t), nan);
}
// log(sum(exp(x - m))) - (x - m)[label], over the last axis; a comparison with iota picks the label and fuses
constexpr int softmax_cross_entropy(graph& g, int x, int label, ignore_label ignored) {
  const shape s = g[x].s;
  const int last = s.rank - 1;
  const unsigned axes = 1u << last;
  const int zero = g.constant(0, g[x].t);
  int counts = no_node; // is the label not ignored?
  if (ignored.given) {
    counts = binary(g, op::ne, label, g.constant(ignored.value, dtype::i32));
    x = where(g, reshape(g, counts, keepdims(s, axes)), x, zero); // ignored rows are not read, not even a NaN
  }
  const bool computed = !is_view_of_argument(g, label) || g.has_data_dependent_rows(s.d[last]);
  const int checked =
      computed ? label : checked_index(g, label, s.d[last], ignored.given ? ignored.value : no_index);
  const int hit = binary(g, op::eq, iota(g, along(s, last)), reshape(g, checked, keepdims(s, axes)));
  const exponentials q = exponentials_of(g, x, axes);
  const int picked = sum(g, where(g, hit, q.shifted, zero), axes);
  int losses = reshape(g, binary(g, op::sub, unary(g, op::log, q.sum), picked), dropped(s, axes));
  if (computed) losses = binary(g, op::add, losses, nan_of_other_labels(g, label, s.d[last], g[x].t));
  return ignored.given ? where(g, counts, losses, zero) : losses;
}

template <reduction F, int Axis, class A> constexpr auto apply_softmax(const A& a) {
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    if (!require(g, Axis >= -s.rank && Axis < s.rank, "tapeless: softmax<axis>(a): the axis exists", s))
      return var{&g, a.id()};
    require(g, is_float(g[a.id()].t), "tapeless: softmax<axis>(a): the element type is float or double");
    return var{&g, F(g, a.id(), axes_mask<Axis>(s.rank))};
  } else {
    using T = typename A::value_type;
    static_assert(floating_point<T>, "tapeless: softmax<axis>(a): the element type is float or double");
    static_assert(axis_in_range<Axis, A::extents.rank>, "tapeless: softmax<axis>(a): the axis exists");
    if constexpr (floating_point<T> && axis_in_range<Axis, A::extents.rank>)
      return wrap<T, A::extents>(g, F(g, a.id(), axes_mask<Axis>(A::extents.rank)));
    else return a;
  }
}

} // namespace detail

// softmax<axis>(a) = exp(a) / sum(exp(a)) along the axis, shifted so that nothing overflows; a's shape
// Errors: compile errors. The axis exists, a is float or double; a named extent of 0 is an exception at run time.
// Cost: that of max, exp, sum and a product, plus one division for each sum.
template <int Axis = -1, detail::handle A> constexpr auto softmax(const A& a) {
  return detail::apply_softmax<detail::softmax<false>, Axis>(a);
}
// softmax<axis>(a, masked_rows_zero): a row of only -inf, otherwise NaN, is 0 and gets the cotangent 0
template <int Axis = -1, detail::handle A> constexpr auto softmax(const A& a, masked_rows_zero_t) {
  return detail::apply_softmax<detail::softmax<true>, Axis>(a);
}
// log_softmax<axis>(a) = a - logsumexp<axis>(a, keepdims), accurate however far from 0 the row is; shape and errors as
// softmax
template <int Axis = -1, detail::handle A> constexpr auto log_softmax(const A& a) {
  return detail::apply_softmax<detail::log_softmax, Axis>(a);
}

// softmax_cross_entropy(logits, label)[i] = logsumexp(logits[i]) - logits[i, label[i]], accurate as log_softmax
//   logits: (.., classes)   label: (..) int32 in [0, classes)   result: (..), the loss of each row
// softmax_cross_entropy<ignore_label{i}>(logits, label): exactly 0 where the label is i, with no cotangent;
// a mask of rows (plan/analysis/masks.hpp)
// Errors: compile errors for shapes and types; a label out of range in an argument is an exception at run time; if the
// program computes it, the loss of its row is NaN.
// Cost: that of logsumexp, a comparison and a sum over the classes.
template <ignore_label Ignored = ignore_label{}, detail::handle A, detail::handle L>
constexpr auto softmax_cross_entropy(const A& logits, const L& label) {
  using namespace detail;
  graph& g = graph_of(logits, label);
  if constexpr (any_var<A, L>) {
    const shape s = g[logits.id()].s;
    require(g, s.rank >= 1 && dropped(s, 1u << (s.rank - 1)) == g[label.id()].s,
            "tapeless: softmax_cross_entropy(logits, label): one label for each row of logits", s,
            g[label.id()].s);
    if (!g.sound()) return var{&g, logits.id()};
    require(g, is_float(g[logits.id()].t),
            "tapeless: softmax_cross_entropy(logits, label): logits are float or double");
    require(
        g, g[label.id()].t == dtype::i32,
        "tapeless: softmax_cross_entropy(logits, label): label is int32, as cast<std::int32_t>(label) is");
    return var{&g, softmax_cross_entropy(g, logits.id(), label.id(), Ignored)};
  } else {
    using T = typename A::value_type;
    static_assert(floating_point<T>,
                  "tapeless: softmax_cross_entropy(logits, label): logits are float or double");
    static_assert(
        index_type<typename L::value_type>,
        "tapeless: softmax_cross_entropy(logits, label): label is int32, as cast<std::int32_t>(label) is");
    static_assert(one_label_for_each_row<A::extents, L::extents>,
                  "tapeless: softmax_cross_entropy(logits, label): one label for each row of logits");
    if constexpr (floating_point<T> && index_type<typename L::value_type> &&
                  one_label_for_each_row<A::extents, L::extents>)
      return wrap<T, L::extents>(g, softmax_cross_entropy(g, logits.id(), label.id(), Ignored));
    else return logits;
  }
}
namespace detail {
template <class... More>
concept logits_and_label_alone = sizeof...(More) == 0;
template <class I>
concept is_an_ignore_label = std::is_same_v<I, ignore_label>;
} // namespace detail
template <ignore_label Ignored = ignore_label{}, detail::handle A, detail::handle L, class... More>
  requires(sizeof...(More) > 0)
constexpr auto softmax_cross_entropy(const A& logits, const L&, const More&...) {
  static_assert(
      detail::logits_and_label_alone<More...>,
      "tapeless: softmax_cross_entropy(logits, label): two tensors; a label to ignore is a template "
      "argument, as in softmax_cross_entropy<tl::ignore_label{255}>(logits, label), and weights are factors of "
      "the result");
  return mean<-1>(logits);
}

template <auto Ignored, detail::handle A, detail::handle L, class... More>
  requires(!detail::is_an_ignore_label<std::remove_cv_t<decltype(Ignored)>>)
constexpr auto softmax_cross_entropy(const A& logits, const L&, const More&...) {
  static_assert(detail::is_an_ignore_label<decltype(Ignored)>,
                "tapeless: softmax_cross_entropy<label>(logits, label): a label to ignore is given as "
                "softmax_cross_entropy<tl::ignore_label{255}>(logits, label)");
  return mean<-1>(logits);
}

} // namespace tapeless
