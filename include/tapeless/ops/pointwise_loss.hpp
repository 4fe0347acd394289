// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Losses of a prediction and a target, element by element: l = f(a, b), and their mean.
// They are written with other ops, so that their derivatives fuse with the ops around them. Those of classes stand in loss.hpp.
#pragma once
#include <concepts>
#include "elementwise.hpp"
#include "epsilon.hpp"
#include "functions.hpp"
#include "reduce.hpp"

namespace tapeless {

// Tag: the losses of the elements, not their mean. For a selection of the hardest, or a sum over some axes.
struct unreduced_t {};
inline constexpr unreduced_t unreduced{};

// Option of binary_cross_entropy_with_logits: a factor of the targets that are 1, a number or a tensor, as (classes)
template <detail::operand W> struct positive_weight {
  W weight;
  constexpr explicit positive_weight(const W& w) : weight(w) {}
};

namespace detail {

template <shape A, shape B>
concept shapes_agree = A == B;

// Two tensors of one shape, or a number beside one: a column minus a row, broadcast, would be a matrix of losses.
template <class A, class B> constexpr void require_one_shape(const A& a, const B& b) {
  if constexpr (handle<A> && handle<B>) {
    if constexpr (any_var<A, B>) {
      graph& g = graph_of(a, b);
      require(g, g[a.id()].s == g[b.id()].s, "tapeless: loss(prediction, target): the shapes agree",
              g[a.id()].s, g[b.id()].s);
    } else
      static_assert(shapes_agree<A::extents, B::extents>,
                    "tapeless: loss(prediction, target): the shapes agree");
  }
}

// w takes no part in the shape of the losses
template <class W, class A>
concept weighs_elements = any_var<W, A> || broadcasts_to<W::extents, A::extents>;
template <class W, class A> constexpr void require_broadcasts_to(const W& w, const A& a) {
  if constexpr (handle<W>) {
    static_assert(weighs_elements<W, A>,
                  "tapeless: positive_weight(w): w broadcasts to the shape of the prediction");
    graph& g = graph_of(a, w);
    require(g, broadcasts_onto(g[w.id()].s, g[a.id()].s),
            "tapeless: positive_weight(w): w broadcasts to the shape of the prediction", g[w.id()].s,
            g[a.id()].s);
  }
}

constexpr auto reduced(const handle auto& losses) { return mean(losses); }
constexpr auto reduced(const handle auto& losses, unreduced_t) { return losses; }

} // namespace detail

// Shapes: two tensors of one shape, or one of them is a number. The mean is a scalar; with unreduced the shape stays.
// Two options stand in either order. Errors: compile errors for shapes and types. The element type is float or double.
// Cost: stated with each, flops an element, and one for the mean.

// mse_loss(a, b) = mean((a - b)^2). 2 flops
template <class A, class B, std::same_as<unreduced_t>... Tag>
  requires detail::handle_among<A, B>
constexpr auto mse_loss(const A& a, const B& b, Tag... tag) {
  detail::require_one_shape(a, b);
  return detail::reduced(square(a - b), tag...);
}

// l1_loss(a, b) = mean(|a - b|); where they are equal the derivative is 0. 2 flops
template <class A, class B, std::same_as<unreduced_t>... Tag>
  requires detail::handle_among<A, B>
constexpr auto l1_loss(const A& a, const B& b, Tag... tag) {
  detail::require_one_shape(a, b);
  return detail::reduced(abs(a - b), tag...);
}

// huber_loss(a, b, delta): (a - b)^2 / 2 where |a - b| <= delta, elsewhere delta (|a - b| - delta / 2). 7 flops
//   Huber, "Robust estimation of a location parameter", Annals of Statistics 53 (1964)
template <class A, class B>
  requires detail::handle_among<A, B>
constexpr auto huber_loss(const A& a, const B& b, double delta, unreduced_t) {
  detail::require_one_shape(a, b);
  const auto d = a - b, size = abs(d);
  return where(size <= delta, 0.5 * square(d), delta * (size - 0.5 * delta));
}
template <class A, class B>
  requires detail::handle_among<A, B>
constexpr auto huber_loss(const A& a, const B& b, unreduced_t, double delta = 1) {
  return huber_loss(a, b, delta, unreduced);
}
template <class A, class B>
  requires detail::handle_among<A, B>
constexpr auto huber_loss(const A& a, const B& b, double delta = 1) {
  return mean(huber_loss(a, b, delta, unreduced));
}

// binary_cross_entropy_with_logits(a, y) = mean(-y log(sigmoid(a)) - (1 - y) log(1 - sigmoid(a))), y in [0, 1]; exact however
// far from 0 a lies, and so is its derivative, sigmoid(a) - y. 13 flops
// binary_cross_entropy_with_logits(a, y, positive_weight(w)): w is a factor of the first term, and broadcasts to a. 16 flops
template <detail::handle A, detail::operand B, std::same_as<unreduced_t>... Tag>
constexpr auto binary_cross_entropy_with_logits(const A& a, const B& y, Tag... tag) {
  detail::require_one_shape(a, y);
  const auto positive = a > 0.0;
  return detail::reduced(softplus(where(positive, -a, a)) + where(positive, a * (1.0 - y), a * -y),
                         tag...); // nothing cancels
}
template <detail::handle A, detail::operand B, class W, std::same_as<unreduced_t>... Tag>
constexpr auto binary_cross_entropy_with_logits(const A& a, const B& y, const positive_weight<W>& w,
                                                Tag... tag) {
  detail::require_one_shape(a, y);
  detail::require_broadcasts_to(w.weight, a);
  const auto positive = a > 0.0;
  const auto first = w.weight * y;
  const auto second = 1.0 - y;
  return detail::reduced(
      (first + second) * softplus(where(positive, -a, a)) + where(positive, a * second, a * -first), tag...);
}
template <detail::handle A, detail::operand B, class W>
constexpr auto binary_cross_entropy_with_logits(const A& a, const B& y, unreduced_t,
                                                const positive_weight<W>& w) {
  return binary_cross_entropy_with_logits(a, y, w, unreduced);
}

// hinge_loss(a, y) = mean(max(1 - y a, 0)), y = -1 or 1; at the kink the derivative is 0. 3 flops
template <class A, class B, std::same_as<unreduced_t>... Tag>
  requires detail::handle_among<A, B>
constexpr auto hinge_loss(const A& a, const B& y, Tag... tag) {
  detail::require_one_shape(a, y);
  return detail::reduced(relu(1.0 - a * y), tag...);
}

// poisson_nll_loss(a, count) = mean(exp(a) - count a), the negative log-likelihood of counts whose rate is exp(a), less what does
// not depend on a. 3 flops
template <class A, class B, std::same_as<unreduced_t>... Tag>
  requires detail::handle_among<A, B>
constexpr auto poisson_nll_loss(const A& a, const B& count, Tag... tag) {
  detail::require_one_shape(a, count);
  return detail::reduced(exp(a) - count * a, tag...);
}

// gaussian_nll_loss(a, b, v) = mean((log(v) + (a - b)^2 / v) / 2), v: variances, of a's shape, raised to
// eps; less log(2 pi) / 2. 7 flops
template <detail::handle A, detail::operand B, detail::handle V>
constexpr auto gaussian_nll_loss(const A& a, const B& b, const V& v, detail::epsilon eps, unreduced_t) {
  detail::require_one_shape(a, b);
  detail::require_one_shape(a, v);
  const auto bounded = max(v, eps.value);
  return 0.5 * (log(bounded) + square(a - b) / bounded);
}
template <detail::handle A, detail::operand B, detail::handle V>
constexpr auto gaussian_nll_loss(const A& a, const B& b, const V& v, detail::epsilon eps = 1e-6) {
  return mean(gaussian_nll_loss(a, b, v, eps, unreduced));
}
template <detail::handle A, detail::operand B, detail::handle V>
constexpr auto gaussian_nll_loss(const A& a, const B& b, const V& v, unreduced_t,
                                 detail::epsilon eps = 1e-6) {
  return gaussian_nll_loss(a, b, v, eps, unreduced);
}

// kl_divergence(log_q, p) = sum(p (log(p) - log_q)) along the last axis, or that which is named: of probabilities p from the
// distribution q, whose logarithms are given, as of log_softmax. Where p is 0 it adds 0. 5 flops
template <int Axis = -1, detail::handle A, detail::handle B> constexpr auto kl_divergence(const A& log_q,
                                                                                          const B& p) {
  detail::require_one_shape(log_q, p);
  return sum<Axis>(where(p == 0.0, 0.0, p * (log(p) - log_q)));
}

} // namespace tapeless
