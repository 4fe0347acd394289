// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Lengths of vectors along axes, and what is made of them: norm, normalize, cosine_similarity, pairwise_distance, variance,
// std_dev.
//
// They are written with other ops. Where a root would be that of 0, its derivative is 0: a subgradient, and right for a square.
#pragma once
#include <concepts>
#include <limits>
#include "elementwise.hpp"
#include "functions.hpp"
#include "epsilon.hpp"
#include "reduce.hpp"

namespace tapeless {

// Tag: the sum of squares is divided by n - 1.
struct unbiased_t {};
inline constexpr unbiased_t unbiased{};

namespace detail {

// With u the mean held constant, centred = a - u, of n elements in each sum: mean((a - u)^2) - (mean(a - u))^2, of which the second
// term corrects the rounding of u. (Chan, Golub, LeVeque 1983.) Derivatives of every order are exact.
template <bool Unbiased> constexpr int variance_about(graph& g, int centred, int n, unsigned axes) {
  const auto mean = [&](int x) { return binary(g, op::div, sum(g, x, axes), n); };
  const int v = binary(g, op::sub, mean(unary(g, op::square, centred)), unary(g, op::square, mean(centred)));
  const int zero = g.constant(0, g[v].t),
            biased = where(g, binary(g, op::lt, v, zero), zero, v); // a NaN stays one
  if (!Unbiased) return biased;
  return binary(g, op::mul, biased, binary(g, op::div, n, binary(g, op::sub, n, g.constant(1, g[v].t))));
}
template <bool Unbiased> constexpr int variance(graph& g, int a, unsigned axes) {
  const int centred = binary(g, op::sub, a, unary(g, op::stop_gradient, mean(g, a, axes)));
  return variance_about<Unbiased>(g, centred, g.extent_value(count_of(g[a].s, axes), g[a].t), axes);
}

// a in the shape that it and b have together   @pre they broadcast
template <handle A, handle B> constexpr auto broadcast_with(const A& a, const B& b) {
  graph& g = graph_of(a, b);
  const int r = expand(g, a.id(), broadcast(g[a.id()].s, g[b.id()].s));
  if constexpr (any_var<A, B>) return var{&g, r};
  else return wrap<typename A::value_type, broadcast(A::extents, B::extents)>(g, r);
}
// sqrt(a), with the derivative 0 at 0
template <handle A> constexpr auto root(const A& a) { return where(a == 0.0, 0.0, sqrt(a)); }

template <std::integral auto... Axes, handle A, class... Keep>
constexpr auto pow_of_sum(const A& powers, double p, const Keep&... keep) {
  const auto total = sum<Axes...>(powers, keep...);
  return where(total == 0.0, 0.0, pow(total, 1 / p));
}
// max, which does not compile for empty axes, whatever p is
template <std::integral auto... Axes, handle A, class... Keep> constexpr auto largest_of(const A& a,
                                                                                         const Keep&...) {
  const shape s = graph_of(a)[a.id()].s;
  require(graph_of(a), count_of(s, axes_mask<Axes...>(s.rank)) != 0,
          "tapeless: max<axes...>(a), min<axes...>(a), logsumexp<axes...>(a): the axes are not empty", s);
  return apply_reduction < max_reduce, sizeof...(Keep) != 0, false, Axes... > (a);
}
template <std::integral auto... Axes, handle A, class... Keep>
constexpr auto norm_of_order(const A& a, double p, const Keep&... keep) {
  static_assert( // here, too: clang prints less ahead of the user's line
      no_axis_is_bool<decltype(Axes)...>,
      "tapeless: reduction<axes...>(a): an axis is a number; to keep the axes, tl::keepdims stands behind a");
  const auto size = [&] { return abs(a); };
  using result = decltype(sum<Axes...>(a, keep...));
  if (p == 2) return result(root(sum<Axes...>(square(a), keep...)));
  if (p == 1) return result(sum<Axes...>(size(), keep...));
  if (p == std::numeric_limits<double>::infinity()) return result(largest_of<Axes...>(size(), keep...));
  if (!require(graph_of(a), p > 0, "tapeless: norm<axes...>(a, p): p is above 0")) p = 1;
  if (p < 1)
    return result(
        pow_of_sum<Axes...>(where(size() == 0.0, 0.0, pow(size(), p)), p, keep...)); // else inf at 0
  return result(pow_of_sum<Axes...>(pow(size(), p), p, keep...));
}

} // namespace detail

// norm<axes...>(a) = sqrt(sum(a^2)); norm<axes...>(a, p) = (sum |a|^p)^(1/p), p > 0, which may be infinity: the largest |a|
// Over all axes if none is given; with keepdims they keep extent 1. A vector of zeros has the derivative 0.
// Errors: compile errors, those of sum (p = infinity: of max).
// Cost: two flops an element, two for each result; p = 1 and infinity: none of the latter; other p: one more an element (pow).
template <std::integral auto... Axes, detail::handle A> constexpr auto norm(const A& a, double p = 2) {
  return detail::norm_of_order<Axes...>(a, p);
}
template <std::integral auto... Axes, detail::handle A> constexpr auto norm(const A& a, keepdims_t) {
  return detail::norm_of_order<Axes...>(a, 2, keepdims);
}
template <std::integral auto... Axes, detail::handle A> constexpr auto norm(const A& a, double p,
                                                                            keepdims_t) {
  return detail::norm_of_order<Axes...>(a, p, keepdims);
}

// normalize<axes...>(a) = a / max(norm(a), eps): vectors of length 1, and zeros where all are 0.
// Cost: that of norm, and one flop an element.
template <std::integral auto... Axes, detail::handle A> constexpr auto normalize(
    const A& a, double p = 2, detail::epsilon eps = 1e-12) {
  return a / max(norm<Axes...>(a, p, keepdims), eps.value);
}
// cosine_similarity<axes...>(a, b) = sum(a b) / max(norm(a) norm(b), eps); over the last axis if none is given.
// Cost: six flops an element, seven for each result.
template <std::integral auto... Axes, detail::handle A, detail::handle B> constexpr auto cosine_similarity(
    const A& a, const B& b, detail::epsilon eps = 1e-8) {
  if constexpr (sizeof...(Axes) == 0) return cosine_similarity<-1>(a, b, eps.value);
  else {
    const auto product = sum<Axes...>(a * b);
    return product /
           max(norm<Axes...>(detail::broadcast_with(a, b)) * norm<Axes...>(detail::broadcast_with(b, a)),
               eps.value);
  }
}
// pairwise_distance<axes...>(a, b, p) = norm<axes...>(a - b, p), over the last axis if none is given; a and b broadcast: of
// points a (n, 1, d) and b (m, d) all n m distances. Where two points are equal the derivative is 0.
// Cost: that of norm, and one flop an element.
template <std::integral auto... Axes, class A, class B>
  requires detail::handle_among<A, B>
constexpr auto pairwise_distance(const A& a, const B& b, double p = 2) {
  if constexpr (sizeof...(Axes) == 0) return norm<-1>(a - b, p);
  else return norm<Axes...>(a - b, p);
}

// variance<axes...>(a) = mean((a - mean(a))^2); variance<axes...>(a, unbiased) divides by n - 1 in place of n
// std_dev<axes...>(a), std_dev<axes...>(a, unbiased): its root, with the derivative 0 where all are equal
// Over all axes if none is given; with keepdims they keep extent 1. Nothing cancels, however far from 0 a lies. Of no elements
// it is NaN, and of one element, unbiased.
// Errors: as sum.   Cost: five flops an element, six for each result, one more if unbiased (three where n is named), two more
// for std_dev.
template <std::integral auto... Axes, detail::handle A> constexpr auto variance(const A& a) {
  return detail::apply_reduction<detail::variance<false>, false, false, Axes...>(a);
}
template <std::integral auto... Axes, detail::handle A> constexpr auto variance(const A& a, keepdims_t) {
  return detail::apply_reduction<detail::variance<false>, true, false, Axes...>(a);
}
template <std::integral auto... Axes, detail::handle A> constexpr auto variance(const A& a, unbiased_t) {
  return detail::apply_reduction<detail::variance<true>, false, false, Axes...>(a);
}
template <std::integral auto... Axes, detail::handle A> constexpr auto variance(const A& a, unbiased_t,
                                                                                keepdims_t) {
  return detail::apply_reduction<detail::variance<true>, true, false, Axes...>(a);
}
template <std::integral auto... Axes, detail::handle A, class... Tag> constexpr auto std_dev(
    const A& a, const Tag&... tag) {
  return detail::root(variance<Axes...>(a, tag...));
}

} // namespace tapeless
