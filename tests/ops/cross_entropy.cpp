// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The options of softmax_cross_entropy, and logaddexp, where the laws do not reach: rows that do not count, classes that cannot
// be, infinite numbers.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace tl = tapeless;

namespace {

constexpr double endless = std::numeric_limits<double>::infinity(),
                 no_number = std::numeric_limits<double>::quiet_NaN();
using X = tl::tensor<double, 3, 4>;
using W = tl::tensor<double, 4>;
using L = tl::tensor<std::int32_t, 3>;
template <class View> std::vector<double> all_of(const View& v) { return {v.begin(), v.end()}; }

} // namespace

TEST_CASE(
    "cross entropy with options: ignored rows are not read, and get the derivative 0; their label is no class") {
  static constexpr auto f = [](auto x, auto w, auto l) {
    return tl::softmax_cross_entropy<tl::ignore_label{255}>(x, l, tl::class_weights(w),
                                                            tl::label_smoothing(0.5));
  };
  static constexpr auto total = [](auto x, auto w, auto l) {
    return tl::sum(tl::softmax_cross_entropy<tl::ignore_label{255}>(x, l, tl::class_weights(w),
                                                                    tl::label_smoothing(0.5)));
  };
  auto run = tl::jit([](auto x, auto w, auto l) {
               return std::tuple{f(x, w, l), tl::grad<0, 1>(total)(x, w, l)};
             }).bind<X, W, L>();
  double x[] = {0, 0, 0, 0, no_number, endless, 1, 2, 0, 0, 0, 0}, w[] = {1, 2, 3, 6};
  std::int32_t l[] = {1, 255, 0};
  const auto& [y, g] = run(X(x), W(w), L(l));
  const double log4 = std::log(4.0);
  CHECK(y[0] == doctest::Approx((0.5 * 2 + 0.125 * 12) * log4));
  CHECK(y[1] == 0);
  CHECK(y[2] == doctest::Approx((0.5 + 0.125 * 12) * log4));
  const auto& [x_bar, w_bar] = g;
  for (int i = 4; i < 8; ++i) CHECK(x_bar[i] == 0);
  CHECK(x_bar[1] == doctest::Approx(2.5 * 0.25 - (0.5 * 2 + 0.125 * 2)));
  CHECK(w_bar[0] == doctest::Approx((0.5 + 2 * 0.125) * log4));
  CHECK(w_bar[3] == doctest::Approx(2 * 0.125 * log4));
  l[0] = 4;
  CHECK_THROWS_AS(run(X(x), W(w), L(l)), tl::argument_error);
}
TEST_CASE("cross entropy of probabilities: a class of probability 0 may have the logit -inf") {
  static constexpr auto f = [](auto x, auto p) { return tl::softmax_cross_entropy(x, p); };
  auto run =
      tl::jit([](auto x, auto p) {
        return std::tuple{f(x, p), tl::grad<0, 1>([](auto a, auto q) { return tl::sum(f(a, q)); })(x, p)};
      }).bind<X, X>();
  double x[] = {0, 0, -endless, -endless, 1, 1, 1, 1, 0, -endless, 0, 0};
  double p[] = {0.5, 0.5, 0, 0, 0, 0, 1, 0, 0.5, 0.5, 0, 0};
  const auto& [y, g] = run(X(x), X(p));
  CHECK(y[0] == doctest::Approx(std::log(2.0)));
  CHECK(y[1] == doctest::Approx(std::log(4.0)));
  CHECK(y[2] == endless);
  const auto& [x_bar, p_bar] = g;
  for (int i = 0; i < 4; ++i) CHECK(x_bar[i] == doctest::Approx(0));
  CHECK(x_bar[6] == doctest::Approx(-0.75));
  for (int i = 0; i < 8; ++i) CHECK(!std::isnan(p_bar[i]));
}
TEST_CASE("cross entropy with options: of vars, of a label that the program computes, of named classes") {
  using N = tl::tensor<double, 3, tl::dyn<'c'>>;
  using V = tl::tensor<double, tl::dyn<'c'>>;
  constexpr auto f = [](auto x, auto w, auto l) {
    const tl::var a = x, b = w, k = l;
    return std::tuple{
        tl::softmax_cross_entropy(x, l, tl::class_weights(w), tl::label_smoothing(0.25)),
        tl::softmax_cross_entropy(a, k, tl::class_weights(b), tl::label_smoothing(0.25))
            .template as<double, 3>(),
        tl::softmax_cross_entropy(x, l + 0, tl::class_weights(w), tl::label_smoothing(0.25)),
        tl::softmax_cross_entropy(a, tl::softmax(a), tl::label_smoothing(0.25)).template as<double, 3>()};
  };
  auto run = tl::jit(f).bind<N, V, L>(tl::dim<'c'>(4));
  double x[] = {1, 2, 3, 4, 0, 0, 0, 0, 4, 1, 1, 1}, w[] = {1, 2, 3, 4};
  std::int32_t l[] = {1, 3, 0};
  const auto& [a, b, c, d] = run(N(x, 4), V(w, 4), L(l));
  CHECK(all_of(a) == all_of(b));
  for (int i = 0; i < 3; ++i) CHECK(a[i] == doctest::Approx(c[i]));
  CHECK(a[1] == doctest::Approx((0.75 * 4 + 0.25 / 4 * 10) * std::log(4.0)));
  CHECK(d[1] == doctest::Approx(std::log(4.0)));
}
TEST_CASE("cross entropy with options: ignored rows are left out of the products, forward and adjoint") {
  using A = tl::tensor<float, 1024, 64>;
  using B = tl::tensor<float, 64, 32>;
  using C = tl::tensor<float, 32>;
  static constexpr auto logits = [](auto x, auto w) { return tl::matmul(x, w); };
  constexpr auto with_options = tl::jit(tl::value_and_grad<1>([](auto x, auto w, auto c, auto l) {
    return tl::mean(tl::softmax_cross_entropy<tl::ignore_label{255}>(logits(x, w), l, tl::class_weights(c),
                                                                     tl::label_smoothing(0.1)));
  }));
  constexpr auto dense = tl::jit(tl::value_and_grad<1>([](auto x, auto w, auto c, auto l) {
    return tl::mean(
        tl::softmax_cross_entropy(logits(x, w), l, tl::class_weights(c), tl::label_smoothing(0.1)));
  }));
  using labels = tl::tensor<std::int32_t, 1024>;
  const auto quarter = [](const tl::cost& c) { return c.flops().at(tl::dim<'k'>(256), tl::dim<'l'>(256)); };
  CHECK(quarter(with_options.cost<A, B, C, labels>()) < 0.28 * quarter(dense.cost<A, B, C, labels>()));
}
TEST_CASE("logaddexp: infinite numbers, ties, and numbers far apart") {
  using V = tl::tensor<double, 8>;
  static constexpr auto f = [](auto a, auto b) { return tl::sum(tl::logaddexp(a, b)); };
  auto run = tl::jit([](auto a, auto b) {
               return std::tuple{tl::logaddexp(a, b), tl::grad<0, 1>(f)(a, b), tl::logaddexp(a, 0.0),
                                 tl::logaddexp(0.0, a)};
             }).bind<V, V>();
  double a[] = {endless, endless, -endless, -endless, 0, 1e300, 1000, no_number};
  double b[] = {endless, 0, 0, -endless, 0, -1e300, 990, -endless};
  const auto& [y, g, left, right] = run(V(a), V(b));
  const auto& [a_bar, b_bar] = g;
  const double e = std::exp(-10.0),
               values[] = {endless, endless, 0, -endless, std::log(2.0), 1e300, 1000 + std::log1p(e)};
  const double first[] = {0, 1, 0, 0, 0.5, 1, 1 / (1 + e)}, second[] = {0, 0, 1, 0, 0.5, 0, e / (1 + e)};
  for (int i = 0; i < 7; ++i) {
    CHECK((y[i] == values[i] || y[i] == doctest::Approx(values[i]).epsilon(1e-15)));
    CHECK(a_bar[i] == doctest::Approx(first[i]).epsilon(1e-15));
    CHECK(b_bar[i] == doctest::Approx(second[i]).epsilon(1e-14));
    CHECK(left[i] == right[i]);
  }
  CHECK(std::isnan(y[7]));
  CHECK(left[2] == 0);
}
