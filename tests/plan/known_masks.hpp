#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows that are known before the forward pass: those where a condition holds, and those whose losses an argument weighs. What
// else there is is left out, also in networks that are too small for it to pay.
#include "known_rows.hpp"

namespace known_masks {

namespace tl = tapeless;
using namespace known;

constexpr auto losses_of_tokens(const auto& p, auto x, auto t) { // three sequences of four rows
  const auto h = tl::tanh(tl::matmul(tl::reshape<3, 4, inputs>(x), std::get<0>(p)));
  const auto e = tl::square(tl::matmul(h, std::get<1>(p)) - tl::reshape<3, 4, outputs>(t));
  return tl::reshape<n>(tl::mean<2>(e));
}

// f(p, x, t, mask): the value with the gradient; Alone: the value and the gradient alone, too
template <bool Alone = false>
void check_mask(const auto& f, const batch& b, const auto& mask, const std::vector<double>& reference) {
  using F = std::remove_cvref_t<decltype(f)>;
  using M = std::remove_cvref_t<decltype(mask)>;
  const auto bind = [](auto program) { return program.template bind<parameters, data, targets, M>(); };
  auto both = bind(tl::jit(tl::value_and_grad<0>(F{})));
  CHECK(agree(value_and_gradient(both, *b.p, *b.x, *b.t, mask), reference));
  if constexpr (Alone) {
    auto value = bind(tl::jit(F{}));
    auto gradient = bind(tl::jit(tl::grad<0>(F{})));
    CHECK(std::abs(value(*b.p, *b.x, *b.t, mask)[0] - reference.back()) <= 1e-13);
    std::vector<double> alone = support::elements(gradient(*b.p, *b.x, *b.t, mask));
    alone.push_back(reference.back());
    CHECK(agree(alone, reference));
  }
}

// A condition of a small loss beside weights of a large one: the weights leave out more.
using many = tl::tensor<double, 1024, 64>;
using layers = std::tuple<tl::tensor<double, 64, 64>, tl::tensor<double, 64, 64>, tl::tensor<double, 2, 2>>;
inline constexpr auto weights_and_condition = [](const auto& p, auto x, auto w, auto y, auto keep) {
  const auto h = tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p));
  const auto aside = tl::sum<1>(tl::square(tl::matmul(y, std::get<2>(p))));
  return tl::sum(w * tl::sum<1>(tl::square(h))) + tl::sum(tl::where(keep, aside, 0.0));
};

// Weights of losses, beside factors that are none: of 16 rows, 12 are counted as kept, or all are computed.
inline constexpr auto weights_of_losses = [](auto w, auto x, auto t, auto m) {
  return tl::mean(m * tl::square(tl::matmul(x, w) - t));
};
inline constexpr auto signs_of_outputs = [](auto w, auto x, auto t, auto sign) {
  return tl::mean(tl::log(1.0 + tl::exp(-(sign * (tl::matmul(x, w) + tl::mean(w)))))) + tl::mean(sign * t);
};
inline constexpr auto form = [](auto w, auto x, auto t, auto v) {
  return tl::sum(v * (tl::matmul(x, w) - t));
};
inline constexpr auto steps_of_two = [](auto w, auto x, auto t, auto v) {
  const auto e = tl::matmul(x, w) - t;
  return tl::sum(v * e * e);
};
template <class F> constexpr bool has_all_rows(F) {
  using vector = tl::tensor<double, 16>;
  const auto c = tl::jit(tl::value_and_grad<0>(F{}))
                     .template cost<tl::tensor<double, 4>, tl::tensor<double, 16, 4>, vector, vector>();
  return flops_of_all_rows(c.adjoint.flops) >= 2 * 16 * 4;
}

} // namespace known_masks
