// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// y = sum<axes...>(a, over(mask)), mean, max, min, logsumexp, softmax, log_softmax, variance, std_dev: over the elements at which
// the mask is true.
//
// They are written with where, so that what is left out is not read, not even a NaN, and gets the cotangent 0. A mask of rows
// is one to the planner, too (plan/analysis/masks.hpp).
#pragma once
#include <concepts>
#include <limits>
#include "elementwise.hpp"
#include "loss.hpp"
#include "reduce.hpp"
#include "vector_norm.hpp"
#include "views.hpp"

namespace tapeless {

// Tag: the elements that count. The mask is bool and broadcasts to the shape of what is reduced.
template <detail::handle M> struct over {
  M mask;
  constexpr explicit over(const M& m) : mask(m) {}
};

namespace detail {

// a, and outside the mask a number that changes no sum, no maximum
constexpr int within(graph& g, int mask, int a, double outside) {
  return where(g, mask, a, g.constant(outside, g[a].t));
}
inline constexpr double below_all = -std::numeric_limits<double>::infinity();

constexpr int masked_sum(graph& g, int a, unsigned axes, int mask) {
  return sum(g, within(g, mask, a, 0), axes);
}
// An axis along which the mask is repeated is a factor.
constexpr int masked_count(graph& g, int a, unsigned axes, int mask) {
  const shape s = g[a].s, own = g[mask].s;
  shape aligned = s;
  extent_t times_each = 1;
  for (int i = 0; i < s.rank; ++i) {
    const int k = i - (s.rank - own.rank);
    aligned.d[i] = k < 0 ? 1 : own.d[k];
    if (((axes >> i) & 1u) && aligned.d[i] != s.d[i]) times_each = times(times_each, s.d[i]);
  }
  const int n = sum(g, unary(g, op::cast, reshape(g, mask, aligned), g[a].t), axes);
  return binary(g, op::mul, n, g.extent_value(times_each, g[a].t));
}
constexpr int masked_mean(graph& g, int a, unsigned axes, int mask) {
  return binary(g, op::div, masked_sum(g, a, axes, mask), masked_count(g, a, axes, mask));
}
constexpr int masked_max(graph& g, int a, unsigned axes, int mask) {
  return max_reduce(g, within(g, mask, a, below_all), axes);
}
constexpr int masked_min(graph& g, int a, unsigned axes, int mask) {
  return unary(g, op::neg, masked_max(g, unary(g, op::neg, a), axes, mask));
}
constexpr int masked_logsumexp(graph& g, int a, unsigned axes, int mask) {
  return logsumexp(g, within(g, mask, a, below_all), axes);
}
template <bool MaskedRowsZero> constexpr int masked_softmax(graph& g, int a, unsigned axes, int mask) {
  return softmax<MaskedRowsZero>(g, within(g, mask, a, below_all), axes);
}
constexpr int masked_log_softmax(graph& g, int a, unsigned axes, int mask) {
  return within(g, mask, log_softmax(g, within(g, mask, a, below_all), axes), below_all);
}
template <bool Unbiased> constexpr int masked_variance(graph& g, int a, unsigned axes, int mask) {
  const int u = unary(g, op::stop_gradient, masked_mean(g, a, axes, mask));
  return variance_about<Unbiased>(g, within(g, mask, binary(g, op::sub, a, u), 0),
                                  masked_count(g, a, axes, mask), axes);
}

template <class M, class A>
concept masks = any_var<A, M> || broadcasts_to<M::extents, A::extents>;
template <class M>
concept of_bools = any_var<M> || boolean<value_type_t<M>>;

// f(mask as a node), or a where it is no mask of a
template <class A, class M, class F> constexpr auto with_mask(const A& a, const over<M>& q, F f) {
  graph& g = graph_of(a, q.mask);
  static_assert(of_bools<M>, "tapeless: op(a, over(mask)): the mask is bool");
  static_assert(masks<M, A>, "tapeless: op(a, over(mask)): the mask's shape broadcasts to a's");
  if constexpr (any_var<A, M>) {
    const int m = q.mask.id();
    const bool fits =
        require(g, g[m].t == dtype::boolean, "tapeless: op(a, over(mask)): the mask is bool") &&
        require(g, broadcasts_onto(g[m].s, g[a.id()].s),
                "tapeless: op(a, over(mask)): the mask's shape broadcasts to a's", g[m].s, g[a.id()].s);
    return f(fits ? m : g.constant(1, dtype::boolean));
  } else if constexpr (of_bools<M> && masks<M, A>) return f(q.mask.id());
  else return a;
}
template <auto F, bool NotEmpty, auto... Axes, class A, class M, class... Keep>
constexpr auto masked_reduction(const A& a, const over<M>& q, Keep...) {
  static_assert( // here, too: clang prints less ahead of the user's line
      no_axis_is_bool<decltype(Axes)...>,
      "tapeless: reduction<axes...>(a): an axis is a number; to keep the axes, tl::keepdims stands behind a");
  return with_mask(a, q, [&](int mask) {
    return apply_reduction < F, sizeof...(Keep) != 0, NotEmpty, Axes... > (a, mask);
  });
}
template <auto F, int Axis, class A, class M>
constexpr auto apply_masked_softmax(const A& a, const over<M>& q) {
  return with_mask(a, q, [&](int mask) { return apply_softmax<F, Axis>(a, mask); });
}

} // namespace detail

// Shapes, axes, keepdims: as without a mask.   Errors: compile errors; those of the op, the mask is bool and broadcasts to a.
// Cost: that of the op; a mean and a variance count the mask's elements, too, one flop each.

// clang-format off
// sum<axes...>(a, over(mask)); of no element 0
template <std::integral auto... Axes, detail::handle A, detail::handle M, std::same_as<keepdims_t>... Keep>
constexpr auto sum(const A& a, const over<M>& mask, Keep... keep) { return detail::masked_reduction<detail::masked_sum, false, Axes...>(a, mask, keep...); }
// mean<axes...>(a, over(mask)) = sum / the number of elements that count; of none NaN, with the derivative 0
template <std::integral auto... Axes, detail::handle A, detail::handle M, std::same_as<keepdims_t>... Keep>
constexpr auto mean(const A& a, const over<M>& mask, Keep... keep) { return detail::masked_reduction<detail::masked_mean, false, Axes...>(a, mask, keep...); }
// max<axes...>(a, over(mask)), min: of none -inf and inf, with the derivative 0
template <std::integral auto... Axes, detail::handle A, detail::handle M, std::same_as<keepdims_t>... Keep>
constexpr auto max(const A& a, const over<M>& mask, Keep... keep) { return detail::masked_reduction<detail::masked_max, true, Axes...>(a, mask, keep...); }
template <std::integral auto... Axes, detail::handle A, detail::handle M, std::same_as<keepdims_t>... Keep>
constexpr auto min(const A& a, const over<M>& mask, Keep... keep) { return detail::masked_reduction<detail::masked_min, true, Axes...>(a, mask, keep...); }
// logsumexp<axes...>(a, over(mask)): of none -inf, with the derivative 0
template <std::integral auto... Axes, detail::handle A, detail::handle M, std::same_as<keepdims_t>... Keep>
constexpr auto logsumexp(const A& a, const over<M>& mask, Keep... keep) { return detail::masked_reduction<detail::masked_logsumexp, true, Axes...>(a, mask, keep...); }
// softmax<axis>(a, over(mask)): 0 outside the mask, and in a row without an element that counts. log_softmax: -inf there
template <int Axis = -1, detail::handle A, detail::handle M>
constexpr auto softmax(const A& a, const over<M>& mask) { return detail::apply_masked_softmax<detail::masked_softmax<true>, Axis>(a, mask); }
template <int Axis = -1, detail::handle A, detail::handle M>
constexpr auto log_softmax(const A& a, const over<M>& mask) { return detail::apply_masked_softmax<detail::masked_log_softmax, Axis>(a, mask); }
// variance<axes...>(a, over(mask)), std_dev: of none NaN, with the derivative 0; unbiased, of one NaN
template <std::integral auto... Axes, detail::handle A, detail::handle M, std::same_as<keepdims_t>... Keep>
constexpr auto variance(const A& a, const over<M>& mask, Keep... keep) { return detail::masked_reduction<detail::masked_variance<false>, false, Axes...>(a, mask, keep...); }
template <std::integral auto... Axes, detail::handle A, detail::handle M, std::same_as<keepdims_t>... Keep>
constexpr auto variance(const A& a, const over<M>& mask, unbiased_t, Keep... keep) { return detail::masked_reduction<detail::masked_variance<true>, false, Axes...>(a, mask, keep...); }
template <std::integral auto... Axes, detail::handle A, detail::handle M, class... Tag>
constexpr auto std_dev(const A& a, const over<M>& mask, Tag... tag) { return detail::root(variance<Axes...>(a, mask, tag...)); }
// clang-format on

} // namespace tapeless
