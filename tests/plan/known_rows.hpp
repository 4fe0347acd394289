// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Of indexed_rows and known_masks: a small network, its losses of rows, and what the rows that count give.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <support/trees.hpp>
#include <tapeless/tapeless.hpp>

namespace known {

namespace tl = tapeless;

constexpr int n = 12, inputs = 3, outputs = 2;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
using parameters = std::tuple<tl::tensor<double, inputs, 4>, tl::tensor<double, 4, outputs>>;
using data = tl::tensor<double, n, inputs>;
using targets = tl::tensor<double, n, outputs>;
using condition = tl::tensor<bool, n>;
using numbers = tl::tensor<double, n>;
using labels = tl::tensor<std::int32_t, n>;

constexpr auto losses(const auto& p, auto x, auto t) {
  return tl::mean<1>(tl::square(tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p)) - t));
}

struct batch {
  tl::owned<parameters> p;
  tl::owned<data> x;
  tl::owned<targets> t;
  batch() {
    std::uint64_t seed = support::draw(*p, 1);
    seed = support::draw(*x, seed);
    support::draw(*t, seed);
  }
  void poison(int row) {
    for (int k = 0; k < inputs; ++k) (*x)[row * inputs + k] = nan;
    for (int k = 0; k < outputs; ++k) (*t)[row * outputs + k] = std::numeric_limits<double>::infinity();
  }
};
// the value, and the gradients of all parameters
inline std::vector<double> elements(const auto& value, const auto& gradient) {
  std::vector<double> r = support::elements(gradient);
  r.push_back(value[0]);
  return r;
}
template <class Run, class... A> std::vector<double> value_and_gradient(Run& run, const A&... a) {
  const auto [value, gradient] = run(a...);
  return elements(value, gradient);
}
inline bool agree(const std::vector<double>& a, const std::vector<double>& b) {
  bool r = a.size() == b.size();
  for (std::size_t i = 0; i < a.size() && r; ++i) r = std::abs(a[i] - b[i]) <= 1e-14;
  return r; // a NaN does not
}

// sum(weight * losses), whose weights are differentiated by: all rows are computed
constexpr auto weighted = [](const auto& p, auto x, auto t, auto w) { return tl::sum(w * losses(p, x, t)); };
inline std::vector<double> expected(const batch& b, const std::vector<double>& weight) {
  tl::owned<numbers> w;
  std::copy(weight.begin(), weight.end(), w.view().begin());
  auto run = tl::jit(tl::value_and_grad<0, 3>(weighted)).bind<parameters, data, targets, numbers>();
  const auto [value, gradient, unused] = run(*b.p, *b.x, *b.t, *w);
  return elements(value, gradient);
}

constexpr double flops_of_all_rows(
    const tl::polynomial& flops) { // those that no number of the run is a factor of
  double r = 0;
  for (int i = 0; i < flops.size(); ++i) r += flops[i].names == 0 ? flops[i].c : 0;
  return r;
}

} // namespace known
