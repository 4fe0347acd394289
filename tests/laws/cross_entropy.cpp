// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// softmax_cross_entropy with class weights, smoothed labels and probabilities (ops/loss.hpp).
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/loss.hpp>

#include <cstdint>
#include <tuple>
#include <vector>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;
constexpr tl::ignore_label two{2};
// logits, probabilities, weights
template <class T> using operands = arguments<tl::tensor<T, n, 5>, tl::tensor<T, n, 5>, tl::tensor<T, 5>>;
using labels = constants<tl::tensor<std::int32_t, n>>;
const std::vector<domain> domains{{-1, 1, true}, {0.1, 1}, {0.5, 2}};
constexpr auto some = [](const auto& c, std::int64_t) {
  std::int32_t k = 3;
  for (auto& l : std::get<0>(c)) l = k = (k * 7 + 1) % 5;
};
template <class Op, class Ref> constexpr auto composed(const char* name, Op op, Ref r) {
  return pair(name, op, r, 128);
}
// 0 where the label is 2
template <class T> ref::array<T> ignoring(const ref::array<T>& loss, const ref::array<std::int32_t>& label) {
  ref::array<T> y = loss;
  for (std::size_t i = 0; i < y.data.size(); ++i) {
    const bool counts = T(static_cast<double>(label.data[i])) == T(2);
    if (counts) y.data[i] = T(0);
  }
  return y;
}
template <class X> auto none() {
  using T = typename std::remove_cvref_t<X>::value_type;
  return ref::array<T>({}, T(1));
}

constexpr auto entropies = cases<operands<double>, labels>(
    composed(
        "class_weights",
        [](const auto& x, const auto&, const auto& w, const auto& l) {
          return tl::softmax_cross_entropy(x, l, tl::class_weights(w));
        },
        [](const auto& x, const auto&, const auto& w, const auto& l) {
          return ref::entropy_of_labels(x, l, w, 0);
        }),
    composed(
        "label_smoothing",
        [](const auto& x, const auto&, const auto&, const auto& l) {
          return tl::softmax_cross_entropy(x, l, tl::label_smoothing(0.2));
        },
        [](const auto& x, const auto&, const auto&, const auto& l) {
          return ref::entropy_of_labels(x, l, none<decltype(x)>(), 0.2);
        }),
    composed(
        "class_weights, label_smoothing",
        [](const auto& x, const auto&, const auto& w, const auto& l) {
          return tl::softmax_cross_entropy(x, l, tl::label_smoothing(0.2), tl::class_weights(w));
        },
        [](const auto& x, const auto&, const auto& w, const auto& l) {
          return ref::entropy_of_labels(x, l, w, 0.2);
        }),
    composed(
        "ignore_label, label_smoothing",
        [](const auto& x, const auto&, const auto&, const auto& l) {
          return tl::softmax_cross_entropy<two>(x, l, tl::label_smoothing(0.2));
        },
        [](const auto& x, const auto&, const auto&, const auto& l) {
          return ignoring(ref::entropy_of_labels(x, l, none<decltype(x)>(), 0.2), l);
        }),
    composed(
        "probabilities",
        [](const auto& x, const auto& p, const auto&, const auto&) {
          return tl::softmax_cross_entropy(x, p);
        },
        [](const auto& x, const auto& p, const auto&, const auto&) {
          return ref::entropy_of_probabilities(x, p, none<decltype(x)>(), 0);
        }),
    composed(
        "probabilities, class_weights, label_smoothing",
        [](const auto& x, const auto& p, const auto& w, const auto&) {
          return tl::softmax_cross_entropy(x, p, tl::class_weights(w), tl::label_smoothing(0.2));
        },
        [](const auto& x, const auto& p, const auto& w, const auto&) {
          return ref::entropy_of_probabilities(x, p, w, 0.2);
        }));

} // namespace

TEST_CASE("cross entropy with options: the laws hold") {
  check_laws(entropies, {1, 2, 7, 17}, domains, some);
}
TEST_CASE("cross entropy with options: float equals the reference") {
  check_values(with<operands<float>, labels>(entropies), {1, 17}, domains, some);
}
