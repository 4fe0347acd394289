// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Strips of rows, end to end: what a program over many rows computes is what the same program computes of each row.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

constexpr int count = 1000, row = 100;
template <int N> using rows = tl::tensor<float, N, row>;
using scale = tl::tensor<float, row>;

constexpr auto network = [](auto x, auto gamma, auto beta) {
  return tl::layer_norm(tl::softmax(tl::layer_norm(x, gamma, beta)) * gamma);
};
constexpr auto pullback = tl::vjp<0>(network);

template <class F, class... X> constexpr int steps_in_strips() {
  const auto& p = tl::detail::planned<F, X...>::value;
  int n = 0;
  for (int i = 0; i < p.steps; ++i) n += p.step_[i].strip;
  return n;
}
template <class View> void fill(unsigned seed, const View& v) {
  for (auto& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) * 0x1p-22f - 2.0f;
  }
}

template <class F, int More> void check_rows(int threads) {
  tl::owned<rows<count>> x, y_bar;
  tl::owned<rows<1>> one, one_bar;
  tl::owned<scale> gamma, beta;
  fill(1, *x);
  fill(2, *y_bar);
  fill(3, *gamma);
  fill(4, *beta);
  const auto run = [](auto& bound, const auto& a, const auto& b, const auto& g, const auto& h) {
    if constexpr (More == 1) return bound(*a, *g, *h, *b);
    else return bound(*a, *g, *h);
  };
  const auto bind = []<class X>(std::type_identity<X>, int t) {
    if constexpr (More == 1) return tl::jit(F{}).template bind<X, scale, scale, X>(tl::threads(t));
    else return tl::jit(F{}).template bind<X, scale, scale>(tl::threads(t));
  };
  auto all = bind(std::type_identity<rows<count>>{}, threads);
  auto single = bind(std::type_identity<rows<1>>{}, 1);
  const auto result = run(all, x, y_bar, gamma, beta);
  bool same = true;
  for (int i = 0; i < count; ++i) {
    std::copy_n((*x).data() + i * row, row, (*one).data());
    std::copy_n((*y_bar).data() + i * row, row, (*one_bar).data());
    const auto expected = run(single, one, one_bar, gamma, beta);
    same = same && std::equal(expected.begin(), expected.end(), result.data() + i * row);
  }
  CHECK(same);
}

// y, its transpose, its transpose's softmax: rows of another step are read across
constexpr auto across = [](auto x) { return tl::softmax(tl::transpose(tl::softmax(x))); };

} // namespace

TEST_CASE("strips: many rows at once are each row by itself, to the last bit") {
  static_assert(steps_in_strips<decltype(network), rows<count>, scale, scale>() >= 6);
  static_assert(steps_in_strips<decltype(pullback), rows<count>, scale, scale, rows<count>>() >= 6);
  static_assert(steps_in_strips<decltype(network), rows<1>, scale, scale>() == 0);
  for (int threads : {1, 2}) {
    check_rows<decltype(network), 0>(threads);
    check_rows<std::remove_const_t<decltype(pullback)>, 1>(threads);
  }
}

TEST_CASE("strips: a step that reads other rows than its own waits for all of them") {
  constexpr int n = 300;
  using square = tl::tensor<double, n, n>;
  static_assert(steps_in_strips<decltype(across), square>() >= 4);
  tl::owned<square> x;
  fill(5, *x);
  auto bound = tl::jit(across).bind<square>(tl::threads(2));
  const auto z = bound(*x);
  const auto softmax = [](std::array<double, n> v) {
    const double top = *std::max_element(v.begin(), v.end());
    double sum = 0;
    for (double& e : v) sum += e = std::exp(e - top);
    for (double& e : v) e /= sum;
    return v;
  };
  static std::array<std::array<double, n>, n> y; // y[j][i] = softmax(x)[i][j]
  for (int i = 0; i < n; ++i) {
    std::array<double, n> line;
    std::copy_n((*x).data() + i * n, n, line.begin());
    line = softmax(line);
    for (int j = 0; j < n; ++j) y[j][i] = line[j];
  }
  double worst = 0;
  for (int j = 0; j < n; ++j) {
    const std::array<double, n> expected = softmax(y[j]);
    for (int i = 0; i < n; ++i)
      worst = std::max(worst, std::abs(z.data()[j * n + i] - expected[i]) / expected[i]);
  }
  CHECK(worst < 1e-13);
}
