// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Cotangents of some rows and of all rows: the rows are added in place.
#include "selected_batch_norm.hpp"

using namespace selected_batch_norm;

TEST_CASE("rows of a table, some of them several times, and all of it besides") {
  constexpr int rows = 41, width = 3, count = 9;
  using W = tl::tensor<double, rows, width>;
  using I = tl::tensor<std::int32_t, count>;
  using T = tl::tensor<double, count, width>;
  constexpr auto decayed = [](auto w, auto ids, auto t) {
    return tl::sum(tl::square(tl::gather(w, ids) - t)) + 0.5 * tl::sum(tl::square(w));
  };
  auto run = tl::jit(tl::value_and_grad<0>(decayed)).bind<W, I, T>();
  tl::owned<W> w;
  tl::owned<I> ids;
  tl::owned<T> t;
  draw(*w, 1, 1.0), draw(*t, 2, 1.0);
  flat expected = elements(*w);
  double value = 0;
  for (const double e : expected) value += e * e / 2;
  for (int i = 0; i < count; ++i) {
    (*ids)[i] = i * 17 % 5 * 10;
    for (int k = 0; k < width; ++k) {
      const auto at = static_cast<std::size_t>((*ids)[i] * width + k);
      const double d = (*w)[static_cast<tl::extent_t>(at)] - (*t)[i * width + k];
      value += d * d;
      expected[at] += 2 * d;
    }
  }
  for (int again = 0; again < 2; ++again) { // what the last run left in place is no part of the next
    const auto [got, gradient] = run(*w, *ids, *t);
    CHECK(got[0] == doctest::Approx(value).epsilon(1e-12));
    CHECK(largest_difference(elements(gradient), expected) < 1e-12);
  }
  const std::string text = tl::jit(tl::value_and_grad<0>(decayed)).explain<W, I, T>();
  CHECK(text.find("scatter_add [41, 3]") != std::string::npos);
}

namespace {

// y[i, j] = x[i, j] + mean_i max(x[i, j], 0): its vjp is linear in rows and in all rows at once
constexpr int few = 12, width = 4;
struct shifted {
  static constexpr tl::shape result(tl::shape s) { return s; }
  static void primal(auto y, auto x) {
    for (int j = 0; j < width; ++j) {
      double m = 0;
      for (int i = 0; i < few; ++i) m += std::max(x[i * width + j], 0.0) / few;
      for (int i = 0; i < few; ++i) y[i * width + j] = x[i * width + j] + m;
    }
  }
  static constexpr auto vjp(auto x, auto, auto y_bar) {
    return where(x > 0.0, y_bar + tl::mean<0>(y_bar), y_bar);
  }
};
constexpr auto of_hardest = [](auto w, auto x) {
  const auto losses = tl::sum<1>(tl::square(tl::custom<shifted>(x * w)));
  const auto rows = tl::top_k<3>(losses);
  return std::tuple(tl::sum(tl::gather(losses, rows)), rows);
};
constexpr auto of_weighted = [](auto w, auto x, auto weight) {
  return tl::sum(tl::sum<1>(tl::square(tl::custom<shifted>(x * w))) * weight);
};

} // namespace

TEST_CASE("rows and all rows: an op that is linear in both takes the rows once") {
  using X = tl::tensor<double, few, width>;
  using W = tl::tensor<double, few>;
  tl::owned<std::tuple<X, X, W>> in;
  const auto [w, x, weight] = *in;
  draw(*in, 5, 1);
  auto selected = tl::jit(tl::value_and_grad<0>(of_hardest)).bind<X, X>();
  const auto [value, gradient] = selected(w, x);
  for (double& e : weight) e = 0;
  for (const std::int32_t i : std::get<1>(value)) weight[i] = 1;
  auto dense = tl::jit(tl::value_and_grad<0, 2>(of_weighted)).bind<X, X, W>();
  const auto [sum, expected, unused] = dense(w, x, weight);
  CHECK(largest_difference(elements(gradient), elements(expected)) < 1e-13);
}
