// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Reductions, masks and cross entropies against JAX and mpmath: data/make_ops.py writes their numbers.
#include "against_jax.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace tl = tapeless;
using namespace against_jax;

namespace {

using M = tl::tensor<float, 5, 7>;
using L = tl::tensor<float, 5>;
using W = tl::tensor<float, 7>;

constexpr auto minimum = [](auto x) { return tl::min<1>(x); };
constexpr auto argmin = [](auto x) {
  return tl::where(tl::iota<1>(x) == tl::expand_dims<1>(tl::argmin<1>(x)), x, 0.0);
};
constexpr auto any = [](auto x) { return tl::where(tl::any<1>(x > 1.0, tl::keepdims), x, 0.0); };
constexpr auto all = [](auto x) { return tl::where(tl::all<0>(x < 1.0), x, 0.0); };
constexpr auto sum_over = [](auto x, auto m) { return tl::sum<1>(x, tl::over(m > 0.5)); };
constexpr auto mean_over = [](auto x, auto m) { return tl::mean<1>(x, tl::over(m > 0.5)); };
constexpr auto max_over = [](auto x, auto m) { return tl::max<1>(x, tl::over(m > 0.5)); };
constexpr auto min_over = [](auto x, auto m) { return tl::min<0>(x, tl::over(m > 0.5)); };
constexpr auto logsumexp_over = [](auto x, auto m) { return tl::logsumexp<1>(x, tl::over(m > 0.5)); };
constexpr auto softmax_over = [](auto x, auto m) { return tl::softmax(x, tl::over(m > 0.5)); };
constexpr auto log_softmax_over = [](auto x, auto m) {
  return tl::where(m > 0.5, tl::log_softmax(x, tl::over(m > 0.5)), 0.0);
};
constexpr auto variance_over = [](auto x, auto m) { return tl::variance<1>(x, tl::over(m > 0.5)); };
constexpr auto std_dev_over = [](auto x, auto m) {
  return tl::std_dev<1>(x, tl::over(m > 0.5), tl::unbiased);
};

constexpr tl::label_smoothing quarter(0.25);
constexpr auto labels = [](auto i) { return tl::cast<std::int32_t>(i); };
constexpr auto weighted = [](auto x, auto i, auto w) {
  return tl::softmax_cross_entropy(x, labels(i), tl::class_weights(w));
};
constexpr auto smoothed = [](auto x, auto i) { return tl::softmax_cross_entropy(x, labels(i), quarter); };
constexpr auto both = [](auto x, auto i, auto w) {
  return tl::softmax_cross_entropy(x, labels(i), quarter, tl::class_weights(w));
};
constexpr auto ignored = [](auto x, auto i, auto w) {
  return tl::softmax_cross_entropy<tl::ignore_label{2}>(x, labels(i), tl::class_weights(w), quarter);
};
constexpr auto of_probabilities = [](auto x, auto p) { return tl::softmax_cross_entropy(x, p); };
constexpr auto all_options = [](auto x, auto p, auto w) {
  return tl::softmax_cross_entropy(x, p, tl::class_weights(w), quarter);
};
constexpr auto logaddexp = [](auto a, auto b) { return tl::logaddexp(a, b); };
constexpr auto positive_weight = [](auto a, auto b, auto w) {
  return tl::binary_cross_entropy_with_logits(a, b, tl::positive_weight(w), tl::unreduced);
};

} // namespace

TEST_CASE("reductions are those of JAX") {
  arrays<minimum, tl::tensor<float, 4, 7>>("min");
  arrays<argmin, M>("argmin");
  arrays<any, M>("any");
  arrays<all, M>("all");
  arrays<sum_over, M, M>("sum_over", 4);
  arrays<mean_over, M, M>("mean_over", 4);
  arrays<max_over, M, M>("max_over");
  arrays<min_over, M, M>("min_over");
  arrays<logsumexp_over, M, M>("logsumexp_over", 8);
  arrays<softmax_over, M, M>("softmax_over", 8);
  arrays<log_softmax_over, M, M>("log_softmax_over", 8);
  arrays<variance_over, M, M>("variance_over", 16);
  arrays<std_dev_over, M, M>("std_dev_over", 16);
}
TEST_CASE("cross entropies are those of JAX, as PyTorch defines them") {
  arrays<weighted, M, L, W>("cross_entropy_weights", 16);
  arrays<smoothed, M, L>("cross_entropy_smoothing", 16);
  arrays<both, M, L, W>("cross_entropy_both", 16);
  arrays<ignored, M, L, W>("cross_entropy_ignored", 16);
  arrays<of_probabilities, M, M>("cross_entropy_probabilities", 16);
  arrays<all_options, M, M, W>("cross_entropy_all", 16);
  elements<logaddexp, 2>("logaddexp", 100); // an exponent of up to 83, rounded
  elements<positive_weight, 3>("positive_weight", 64);
}
