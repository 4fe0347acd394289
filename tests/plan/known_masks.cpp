// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows where a condition holds, and which rows the planner leaves out.
#include "known_masks.hpp"

using namespace known_masks;

static_assert(flops_of_all_rows(tl::jit(tl::value_and_grad<0>(weights_and_condition))
                                    .cost<layers, many, tl::tensor<double, 1024>, tl::tensor<double, 16, 2>,
                                          tl::tensor<bool, 16>>()
                                    .adjoint.flops) < 1024);
static_assert(!has_all_rows(weights_of_losses) && has_all_rows(signs_of_outputs));
static_assert(has_all_rows(form) &&
              !has_all_rows(steps_of_two)); // linear in what comes of the product, or not

TEST_CASE(
    "known masks: where a condition does not hold, a row is zero whatever it has, in a small network too") {
  constexpr auto product = [](const auto& p, auto x, auto t, auto keep) {
    return tl::sum(tl::cast<double>(keep) * losses(p, x, t));
  };
  constexpr auto choice = [](const auto& p, auto x, auto t, auto keep) {
    return tl::sum(tl::where(keep, losses(p, x, t), 0.0));
  };
  constexpr auto of_numbers = [](const auto& p, auto x, auto t, auto keep) {
    return tl::sum(tl::where(!keep, 0.0, 1.0) * losses(p, x, t));
  };
  constexpr auto tokens = [](const auto& p, auto x, auto t, auto keep) {
    return tl::sum(tl::where(keep, losses_of_tokens(p, x, t), 0.0));
  };
  constexpr auto stopped = [](const auto& p, auto x, auto t, auto keep) {
    return tl::sum(tl::stop_gradient(tl::cast<double>(keep)) * losses(p, x, t));
  };
  constexpr auto with_lookup = [](const auto& p, auto x, auto t,
                                  auto keep) { // a list that has nothing to do with it
    const auto first = tl::gather(tl::slice<0, 0, 4>(std::get<1>(p)), tl::slice<0, 0, 3>(tl::iota<0>(keep)));
    return tl::sum(tl::where(keep, losses(p, x, t), 0.0)) + 0.0 * tl::sum(first);
  };
  constexpr auto of_weights = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(tl::where(w != 0.0, w * losses(p, x, t), 0.0));
  };
  constexpr auto valid = [](const auto& p, auto x, auto t, auto label) {
    return tl::sum(tl::where(label != 255, losses(p, x, t), 0.0));
  };
  batch b;
  tl::owned<condition> keep;
  tl::owned<numbers> weight;
  tl::owned<labels> label;
  for (const int left_out : {0, 1, 5, n}) {
    std::vector<double> ones(n, 1.0), twos(n, 2.0);
    for (int i = 0; i < n; ++i) {
      (*keep)[i] = i >= left_out;
      (*weight)[i] = i >= left_out ? 2 : 0;
      (*label)[i] = i >= left_out ? i : 255;
      if (i < left_out) ones[static_cast<std::size_t>(i)] = twos[static_cast<std::size_t>(i)] = 0;
    }
    const auto once = expected(batch{}, ones), twice = expected(batch{}, twos);
    for (int i = 0; i < left_out; ++i) b.poison(i);
    const auto check = [&](const auto& f, const auto& mask, const std::vector<double>& reference) {
      check_mask(f, b, *mask, reference);
    };
    check_mask<true>(product, b, *keep, once);
    check(of_numbers, keep, once);
    check_mask<true>(choice, b, *keep, once);
    check(tokens, keep, once);
    check(with_lookup, keep, once);
    check(stopped, keep, once);
    check_mask<true>(of_weights, b, *weight, twice);
    check(valid, label, once);
  }
}
