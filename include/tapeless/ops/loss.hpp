// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// softmax, log_softmax over the last axis (or a named one); cross entropies of labels and of probabilities.
// They are written in terms of other ops, so that their derivatives fuse with the ops around them.
#pragma once
#include <initializer_list>
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

namespace detail {
template <class W>
concept weights_are_a_tensor = handle<W>;
} // namespace detail

// Options of softmax_cross_entropy: a factor of each class, w: (classes); and a part of each label that all classes share.
template <class W> struct class_weights {
  static_assert(
      detail::weights_are_a_tensor<W>,
      "tapeless: class_weights(w): w is a tensor (classes), an argument of the program, not numbers");
  W weights;
  constexpr explicit class_weights(const W& w) : weights(w) {}
};
template <class N> class_weights(std::initializer_list<N>) -> class_weights<std::initializer_list<N>>;
struct label_smoothing {
  double part;
  constexpr explicit label_smoothing(double e) : part(e) {}
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
struct entropy_options {
  int weights = no_node;
  double smoothing = 0;
};
constexpr int scaled_by(graph& g, int a, double factor) {
  return binary(g, op::mul, a, g.constant(factor, g[a].t));
}
// losses (.., 1), and the mean of those of all classes beside them:   loss[c] = total - shifted[c]
constexpr int smoothed(graph& g, int losses, int total, int shifted, unsigned axes,
                       const entropy_options& o) {
  const dtype t = g[shifted].t;
  const int classes = g.extent_value(count_of(g[shifted].s, axes), t), w = o.weights;
  const int all = w == no_node ? classes : sum(g, w, 1u);
  const int picked = sum(g, w == no_node ? shifted : binary(g, op::mul, shifted, w), axes);
  const int others = binary(g, op::sub, binary(g, op::mul, total, all), picked);
  return binary(g, op::add, scaled_by(g, losses, 1 - o.smoothing),
                binary(g, op::mul, others, binary(g, op::div, g.constant(o.smoothing, t), classes)));
}
// log(sum(exp(x - m))) - (x - m)[label], over the last axis; a comparison with iota picks the label and fuses
constexpr int softmax_cross_entropy(graph& g, int x, int label, ignore_label ignored,
                                    const entropy_options& o = {}) {
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
  const int picked = sum(g, where(g, hit, q.shifted, zero), axes), total = unary(g, op::log, q.sum);
  int losses = binary(g, op::sub, total, picked);
  if (o.weights != no_node) { // a gather: weights of 0 are a mask of rows
    const int of_class = ignored.given ? where(g, counts, label, g.constant(0, dtype::i32)) : label;
    const bool is_checked = !computed && !ignored.given;
    const int weight = gather(g, o.weights, is_checked ? checked : checked_index(g, of_class, s.d[last]), 0);
    losses = binary(g, op::mul, losses, reshape(g, weight, keepdims(s, axes)));
  }
  if (o.smoothing != 0) losses = smoothed(g, losses, total, q.shifted, axes, o);
  losses = reshape(g, losses, dropped(s, axes));
  if (computed) losses = binary(g, op::add, losses, nan_of_other_labels(g, label, s.d[last], g[x].t));
  return ignored.given ? where(g, counts, losses, zero) : losses;
}
// -sum(p log_softmax(x)), over the last axis. 0 times the logarithm of 0 is 0.
constexpr int entropy_of_probabilities(graph& g, int x, int p, const entropy_options& o) {
  const shape s = g[x].s;
  const dtype t = g[x].t;
  const unsigned axes = 1u << (s.rank - 1);
  if (o.smoothing != 0)
    p = binary(g, op::add, scaled_by(g, p, 1 - o.smoothing),
               binary(g, op::div, g.constant(o.smoothing, t), g.extent_value(s.d[s.rank - 1], t)));
  if (o.weights != no_node) p = binary(g, op::mul, p, o.weights);
  const exponentials q = exponentials_of(g, x, axes);
  const int none =
      binary(g, op::logical_and, binary(g, op::eq, p, g.constant(0, t)),
             binary(g, op::eq, q.shifted, g.constant(-std::numeric_limits<double>::infinity(), t)));
  const int picked = sum(g, where(g, none, g.constant(0, t), binary(g, op::mul, p, q.shifted)), axes);
  const int total = binary(g, op::mul, sum(g, p, axes), unary(g, op::log, q.sum));
  return reshape(g, binary(g, op::sub, total, picked), dropped(s, axes));
}

template <class O> inline constexpr bool is_entropy_option = std::is_same_v<O, label_smoothing>;
template <class W> inline constexpr bool is_entropy_option<class_weights<W>> = true;
template <class W, class A>
concept weighs_classes =
    any_var<A, W> || (A::extents.rank >= 1 && std::is_same_v<value_type_t<W>, value_type_t<A>> &&
                      W::extents == shape{1, {A::extents.d[A::extents.rank > 0 ? A::extents.rank - 1 : 0]}});

template <class A> constexpr void take_option(entropy_options& o, const A& logits, label_smoothing e) {
  if (require(graph_of(logits), e.part >= 0 && e.part <= 1, "tapeless: label_smoothing(e): 0 <= e <= 1"))
    o.smoothing = e.part;
}
template <class A, class W>
constexpr void take_option(entropy_options& o, const A& logits, const class_weights<W>& w) {
  static_assert(weighs_classes<W, A>,
                "tapeless: class_weights(w): w is (classes), of the element type of the logits");
  const int a = logits.id(), b = w.weights.id();
  graph& g = graph_of(logits, w.weights);
  if (require(g, g[a].s.rank >= 1 && g[b].t == g[a].t && g[b].s == shape{1, {g[a].s.d[g[a].s.rank - 1]}},
              "tapeless: class_weights(w): w is (classes), of the element type of the logits", g[b].s,
              g[a].s))
    o.weights = b;
}
// Float labels with an axis for the classes are probabilities.
template <class A, class L>
concept of_probabilities =
    !any_var<A, L> && floating_point<value_type_t<L>> && A::extents.rank == L::extents.rank;
template <class A, class L>
concept one_probability_for_each_logit =
    std::is_same_v<value_type_t<A>, value_type_t<L>> && A::extents == L::extents;

// F(graph, a, axes, further...)
template <auto F, int Axis, class A, class... Further>
constexpr auto apply_softmax(const A& a, Further... further) {
  graph& g = graph_of(a);
  if constexpr (any_var<A>) {
    const shape s = g[a.id()].s;
    if (!require(g, Axis >= -s.rank && Axis < s.rank, "tapeless: softmax<axis>(a): the axis exists", s))
      return var{&g, a.id()};
    require(g, is_float(g[a.id()].t), "tapeless: softmax<axis>(a): the element type is float or double");
    return var{&g, F(g, a.id(), axes_mask<Axis>(s.rank), further...)};
  } else {
    using T = typename A::value_type;
    static_assert(floating_point<T>, "tapeless: softmax<axis>(a): the element type is float or double");
    static_assert(axis_in_range<Axis, A::extents.rank>, "tapeless: softmax<axis>(a): the axis exists");
    if constexpr (floating_point<T> && axis_in_range<Axis, A::extents.rank>)
      return wrap<T, A::extents>(g, F(g, a.id(), axes_mask<Axis>(A::extents.rank), further...));
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

namespace detail {

template <ignore_label Ignored> inline constexpr bool ignores_nothing = !Ignored.given;

template <ignore_label Ignored, class A, class L>
constexpr auto apply_entropy_of_probabilities(const A& logits, const L& p, const entropy_options& o) {
  graph& g = graph_of(logits, p);
  const shape s = g[logits.id()].s;
  if constexpr (any_var<A, L>) {
    if (!require(g, !Ignored.given,
                 "tapeless: softmax_cross_entropy<label>(logits, probabilities): a label to ignore is one of "
                 "int32 labels; weigh the rows instead") ||
        !require(g,
                 s.rank >= 1 && s == g[p.id()].s && is_float(g[p.id()].t) && g[p.id()].t == g[logits.id()].t,
                 "tapeless: softmax_cross_entropy(logits, probabilities): they have the shape and the "
                 "element type of the logits",
                 s, g[p.id()].s))
      return var{&g, logits.id()};
    return var{&g, entropy_of_probabilities(g, logits.id(), p.id(), o)};
  } else {
    static_assert(
        ignores_nothing<Ignored>,
        "tapeless: softmax_cross_entropy<label>(logits, probabilities): a label to ignore is one of "
        "int32 labels; weigh the rows instead");
    static_assert(one_probability_for_each_logit<A, L>,
                  "tapeless: softmax_cross_entropy(logits, probabilities): they have the shape and the "
                  "element type of the logits");
    if constexpr (one_probability_for_each_logit<A, L> && A::extents.rank >= 1)
      return wrap<value_type_t<A>, dropped(A::extents, 1u << (A::extents.rank - 1))>(
          g, entropy_of_probabilities(g, logits.id(), p.id(), o));
    else return logits;
  }
}
template <ignore_label Ignored, class A, class L>
constexpr auto apply_cross_entropy(const A& logits, const L& label, const entropy_options& o) {
  graph& g = graph_of(logits, label);
  if constexpr (any_var<A, L>) {
    const shape s = g[logits.id()].s;
    if (is_float(g[label.id()].t) && g[label.id()].s.rank == s.rank)
      return apply_entropy_of_probabilities<Ignored>(var{&g, logits.id()}, var{&g, label.id()}, o);
    require(g, s.rank >= 1 && dropped(s, 1u << (s.rank - 1)) == g[label.id()].s,
            "tapeless: softmax_cross_entropy(logits, label): one label for each row of logits", s,
            g[label.id()].s);
    if (!g.sound()) return var{&g, logits.id()};
    require(g, is_float(g[logits.id()].t),
            "tapeless: softmax_cross_entropy(logits, label): logits are float or double");
    require(
        g, g[label.id()].t == dtype::i32,
        "tapeless: softmax_cross_entropy(logits, label): label is int32, as cast<std::int32_t>(label) is");
    return var{&g, softmax_cross_entropy(g, logits.id(), label.id(), Ignored, o)};
  } else if constexpr (of_probabilities<A, L>)
    return apply_entropy_of_probabilities<Ignored>(logits, label, o);
  else {
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
      return wrap<T, L::extents>(g, softmax_cross_entropy(g, logits.id(), label.id(), Ignored, o));
    else return logits;
  }
}

template <class... More>
concept options_of_cross_entropy = (is_entropy_option<More> && ...);
template <class I>
concept is_an_ignore_label = std::is_same_v<I, ignore_label>;

} // namespace detail

// softmax_cross_entropy(logits, label)[i] = logsumexp(logits[i]) - logits[i, label[i]], accurate as log_softmax
//   logits: (.., classes)   label: (..) int32 in [0, classes)   result: (..), the loss of each row
// softmax_cross_entropy(logits, p)[i] = -sum_c p[i, c] log_softmax(logits[i])[c]      p: probabilities, of the logits' shape
// softmax_cross_entropy<ignore_label{i}>(logits, label): exactly 0 where the label is i, with no cotangent;
// a mask of rows (plan/analysis/masks.hpp)
// Options, behind: class_weights(w) is a factor w[c] of the term of class c, w: (classes); label_smoothing(e) replaces the
// one-hot label, or p, by (1 - e) p + e / classes.
// Errors: compile errors for shapes and types; a label out of range in an argument is an exception at run time; if the
// program computes it, the loss of its row is NaN.
// Cost: that of logsumexp, a comparison and a sum over the classes; with label_smoothing one more sum; of probabilities two sums,
// a product and two comparisons.
template <ignore_label Ignored = ignore_label{}, detail::handle A, detail::handle L, class... Option>
  requires(detail::is_entropy_option<Option> && ...)
constexpr auto softmax_cross_entropy(const A& logits, const L& label, const Option&... option) {
  detail::entropy_options o;
  (detail::take_option(o, logits, option), ...);
  return detail::apply_cross_entropy<Ignored>(logits, label, o);
}
template <ignore_label Ignored = ignore_label{}, detail::handle A, detail::handle L, class... More>
  requires(!(detail::is_entropy_option<More> && ...))
constexpr auto softmax_cross_entropy(const A& logits, const L&, const More&...) {
  static_assert(
      detail::options_of_cross_entropy<More...>,
      "tapeless: softmax_cross_entropy(logits, label, options...): an option is tl::class_weights(w) or "
      "tl::label_smoothing(e); a label to ignore is a template argument, as in "
      "softmax_cross_entropy<tl::ignore_label{255}>(logits, label), and weights of rows are factors of the "
      "result");
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
