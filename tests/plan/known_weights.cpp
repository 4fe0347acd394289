// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows of losses that an argument weighs.
#include "known_masks.hpp"

using namespace known_masks;

TEST_CASE("known masks: where a weight is zero, a row is zero whatever it has, in a small network too") {
  constexpr auto summed = [](const auto& p, auto x, auto t, auto w) { return tl::sum(w * losses(p, x, t)); };
  constexpr auto averaged = [](const auto& p, auto x, auto t, auto w) {
    return -static_cast<double>(n) * tl::mean(-losses(p, x, t) * w);
  };
  constexpr auto of_elements = [](const auto& p, auto x, auto t, auto w) {
    const auto z = tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p));
    return tl::sum(tl::sum<1>(tl::square(z - t) * tl::reshape<n, 1>(w)) / 2.0);
  };
  constexpr auto of_tokens = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(w * losses_of_tokens(p, x, t));
  };
  constexpr auto of_two = [](const auto& p, auto x, auto t, auto w) {
    const auto l = losses(p, x, t);
    return tl::sum(0.25 * w * l + 0.75 * l * w);
  };
  constexpr auto normalised = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(w / tl::sum(w) * losses(p, x, t));
  };
  constexpr auto negative = [](const auto& p, auto x, auto t, auto w) {
    return -tl::sum(-w * losses(p, x, t));
  };
  constexpr auto of_squares = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(tl::square(w) / 64.0 * losses(p, x, t));
  };
  constexpr auto of_residuals = [](const auto& p, auto x, auto t, auto w) {
    const auto z = tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p));
    return tl::sum(tl::mean<1>(tl::square(tl::reshape<n, 1>(w) / 8.0 * (z - t))));
  };
  constexpr auto of_masked_outputs = [](const auto& p, auto x, auto t, auto w) {
    const auto z = tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p));
    const auto m = tl::reshape<n, 1>(w) / 8.0;
    return tl::sum(tl::mean<1>(tl::square(m * z - m * t)));
  };
  constexpr auto of_half_targets = [](const auto& p, auto x, auto t,
                                      auto w) { // a mask of no rows of the network
    const auto z = tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p));
    return tl::sum(w * tl::mean<1>(tl::square(z - (t / 2.0 + t * 0.5))));
  };
  constexpr auto of_branches = [](const auto& p, auto x, auto t, auto w) {
    const auto l = losses(p, x, t);
    return tl::sum(tl::where(l > 0.3, w * l, 1.0 * w * l));
  };
  constexpr auto with_condition = [](const auto& p, auto x, auto t, auto w) {
    const auto positive = tl::cast<double>(tl::iota<0>(w) >= 0); // a condition of every row
    return tl::sum(w * positive * losses(p, x, t));
  };
  constexpr auto guarded = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(tl::where(w != 0.0, 2.0 * w * losses(p, x, t), 0.0)) / 2.0;
  };
  constexpr auto integral = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(tl::cast<double>(w) * losses(p, x, t));
  };
  constexpr auto beside_a_penalty = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(w * losses(p, x, t)) + 0.0 * tl::sum(tl::square(std::get<0>(p)));
  };
  batch b;
  tl::owned<numbers> weight;
  tl::owned<labels> whole;
  for (const int left_out : {0, 1, 5, n}) {
    std::vector<double> w(n), of_sum(n), square(n);
    double sum = 0;
    for (int i = 0; i < n; ++i) {
      (*whole)[i] = i < left_out ? 0 : i - 3; // one more is 0, others are negative
      (*weight)[i] = w[static_cast<std::size_t>(i)] = (*whole)[i];
      sum += (*weight)[i];
    }
    for (int i = 0; i < n; ++i) of_sum[static_cast<std::size_t>(i)] = w[static_cast<std::size_t>(i)] / sum;
    for (int i = 0; i < n; ++i) square[static_cast<std::size_t>(i)] = (*weight)[i] * (*weight)[i] / 64;
    const auto all = expected(batch{}, w), squares = expected(batch{}, square);
    auto parts = expected(batch{}, of_sum);
    for (int i = 0; i < left_out; ++i) b.poison(i);
    const auto check = [&](const auto& f, const auto& mask, const std::vector<double>& reference) {
      check_mask(f, b, *mask, reference);
    };
    check_mask<true>(summed, b, *weight, all);
    check(averaged, weight, all);
    check(of_elements, weight, all);
    check_mask<true>(of_tokens, b, *weight, all);
    check(of_two, weight, all);
    check(beside_a_penalty, weight, all);
    check(negative, weight, all);
    check(of_squares, weight, squares);
    check(of_residuals, weight, squares);
    check(of_masked_outputs, weight, squares);
    check(of_half_targets, weight, all);
    check(of_branches, weight, all);
    check(with_condition, weight, all);
    check(guarded, weight, all);
    check(integral, whole, all);
    if (left_out == n) std::fill(parts.begin(), parts.end(), 0.0); // 0 / 0 in the dense form
    check_mask<true>(normalised, b, *weight, parts);
  }
}
