// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Masks of two losses behind one network, and of one loss. The rows of each loss.
#include "combine_masks.hpp"

using namespace combine_masks;

TEST_CASE_TEMPLATE("several masks: each loss has its own, behind one network", P, parameters,
                   network<double, deep>) {
  check<P, true>([](const auto& p, auto x, auto t, auto u, auto w, auto v, auto,
                    auto) { return tl::sum(w * losses<1>(p, x, t)) + tl::sum(v * losses<2>(p, x, u)); },
                 by_w, by_v);
  check<parameters, true>(
      [](const auto& p, auto x, auto t, auto u, auto w, auto v, auto, auto) {
        return tl::mean(tl::where(w != 0.0, losses<1>(p, x, t), 0.0)) +
               tl::sum(v * losses<2>(p, x, u)) / tl::sum(v);
      },
      by_w, by_v);
}

TEST_CASE("several masks: of a loss whose cotangent has a term that is the weight alone") {
  check(
      [](const auto& p, auto x, auto t, auto u, auto w, auto v, auto, auto) {
        const auto first = tl::sum<1>(tl::matmul(hidden(p, x), std::get<1>(p)) - t);
        return tl::sum(w * (tl::square(first) + first)) + tl::sum(v * losses<2>(p, x, u));
      },
      by_w, by_v);
  check(
      [](const auto& p, auto x, auto t, auto, auto w, auto v, auto, auto) {
        const auto first = tl::sum<1>(tl::matmul(hidden(p, x), std::get<1>(p)) - t);
        return tl::sum(w * (v * (tl::square(first) + first)));
      },
      all_of(by_w, by_v), by_none);
}

TEST_CASE("several masks: one of them is of both losses") {
  check([](const auto& p, auto x, auto t, auto u, auto w, auto v, auto,
           auto) { return tl::sum(w * losses<1>(p, x, t)) + tl::sum(w * (v * losses<2>(p, x, u))); },
        by_w, all_of(by_w, by_v));
  check(
      [](const auto& p, auto x, auto t, auto, auto w, auto v, auto, auto) { // of one loss, weighed twice
        const auto l = w * losses<1>(p, x, t);
        return tl::sum(l) + tl::sum(v * l);
      },
      by_w, by_none);
}

// With one row in each list a step of two losses has less than a fourth of the flops of all 12, and the heads have lists
// where that pays.
template <class F, class Parameters = parameters> constexpr auto cost_of =
    tl::jit(F{}).template cost<Parameters, data, targets, targets, of_rows, of_rows>();
constexpr auto two_losses = [](const auto& p, auto x, auto t, auto u, auto w, auto v) {
  return tl::sum(w * losses<1>(p, x, t)) + tl::sum(v * losses<2>(p, x, u));
};
constexpr auto masked_cost = cost_of<decltype(tl::value_and_grad<0>(two_losses))>,
               cost_of_all = cost_of<decltype(tl::value_and_grad<0, 4, 5>(two_losses))>;
static_assert(4 * masked_cost.primal.flops.at() < cost_of_all.primal.flops.at());
static_assert(4 * masked_cost.adjoint.flops.at() < cost_of_all.adjoint.flops.at());
static_assert(masked_cost.densified == 0);
template <class Parameters> constexpr bool has_own_rows =
    cost_of<decltype(tl::value_and_grad<0>(two_losses)), Parameters>.flops().at(tl::dim<'$'>(2)) >
    cost_of<decltype(tl::value_and_grad<0>(two_losses)), Parameters>.flops().at();
static_assert(has_own_rows<network<double, deep>> && !has_own_rows<parameters>);
