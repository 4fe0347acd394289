// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// batch_norm: squares that overflow, a large mean, the third derivative, empty batches.
#include "norm.hpp"

using namespace norm_programs;

static_assert(forward<batch_t>.steps() == 5 && gradients<batch_t>.steps() == 5);
static_assert(images_moved(forward<batch_t>) == 4 && images_moved(gradients<batch_t>) == 7);
static_assert(images_moved(forward<groups_t>) < 6 && images_moved(gradients<groups_t>) < 9);

TEST_CASE("batch_norm: squares that overflow make neither zeros nor NaN") {
  using X = tl::tensor<float, 4, 1>;
  using C = tl::tensor<float, 1>;
  auto run = tl::jit([](auto x, auto c, auto u) {
               return std::tuple{batch(x, c, c), tl::batch_norm_stats(x), tl::vjp<0, 1>(batch)(x, c, c, u)};
             }).bind<X, C, X>();
  float x[] = {1e30f, -1e30f, 2e30f, 0}, c[] = {1}, u[] = {1, 2, 3, 5};
  const auto [y, stats, bars] = run(X(x), C(c), X(u));
  const double expected[] = {0.4472136, -1.3416408, 1.3416408, -0.4472136};
  double u_mean = 2.75, uy = 0;
  for (int i = 0; i < 4; ++i) uy += u[i] * expected[i];
  const double r = 0.8944272e-30; // 1 / deviation
  for (int i = 0; i < 4; ++i) {
    CHECK(y[i] == doctest::Approx(1 + expected[i]));
    CHECK(std::get<0>(bars)[i] * 1e30 == doctest::Approx(1e30 * r * (u[i] - u_mean - expected[i] * uy / 4)));
  }
  CHECK(std::get<1>(bars)[0] == doctest::Approx(uy));
  CHECK(std::get<0>(stats)[0] == doctest::Approx(5e29));
  CHECK(std::isinf(std::get<1>(stats)[0])); // 1.25e60
}

TEST_CASE(
    "an empty batch: layer_norm's parameters get 0; batch_norm has no mean, so gamma gets NaN and beta 0") {
  using X = tl::tensor<float, n, 3>;
  using C = tl::tensor<float, 3>;
  const auto f = [](const auto& x, const auto& g, const auto& b, const auto& u) {
    return std::tuple{tl::vjp<1, 2>(layer)(x, g, b, u), tl::vjp<1, 2>(batch)(x, g, b, u),
                      tl::batch_norm_stats(x), tl::batch_norm(x, g, b)};
  };
  auto run = tl::jit(f).bind<X, C, C, X>(tl::dim<'n'>(2));
  const tl::owned<C> c;
  const float unread = 0;
  const tl::tensor<const float, n, 3> none(&unread, 0);
  const auto [of_layer, of_batch, stats, y] = run(none, *c, *c, none);
  CHECK(y.size() == 0);
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(std::get<0>(of_layer)[i] == 0);
    CHECK(std::get<1>(of_layer)[i] == 0);
    CHECK(std::isnan(std::get<0>(of_batch)[i]));
    CHECK(std::get<1>(of_batch)[i] == 0);
    CHECK(std::isnan(std::get<0>(stats)[i]));
    CHECK(std::isnan(std::get<1>(stats)[i]));
  }
}

TEST_CASE("a mean that is large beside the deviation costs no digits") {
  using X = tl::tensor<float, 8, 4>;
  auto run = tl::jit([](const auto& x) {
               return std::tuple{tl::batch_norm(x, 0.0), tl::batch_norm_stats(x)};
             }).bind<X>();
  tl::owned<X> near, far;
  fill(*near, 0.371);
  for (std::int64_t i = 0; i < 32; ++i) {
    (*near)[i] = std::round((*near)[i] * 64) / 64; // exact also behind 65536
    (*far)[i] = (*near)[i] + 65536;
  }
  tl::owned<std::tuple<X, std::tuple<tl::tensor<float, 4>, tl::tensor<float, 4>>>> expected;
  tl::copy(run(*near), *expected);
  const auto& [y, stats] = run(*far);
  for (std::int64_t i = 0; i < 32; ++i)
    CHECK(y[i] == doctest::Approx(std::get<0>(*expected)[i]).epsilon(0.02));
  for (std::int64_t i = 0; i < 4; ++i)
    CHECK(std::get<1>(stats)[i] == doctest::Approx(std::get<1>(std::get<1>(*expected))[i]).epsilon(1e-4));
}

TEST_CASE("batch_norm: the third derivative is that of the formula") {
  using X = tl::tensor<double, 7, 3>;
  tl::owned<std::tuple<X, X>> a;
  fill(*a, 0.3719);
  auto run = tl::jit([](auto x, auto v) {
               return std::tuple{third(ours, x, v), third(formula, x, v)};
             }).bind<X, X>();
  const auto [d, expected] = std::apply(run, *a);
  for (std::int64_t i = 0; i < d.size(); ++i) CHECK(d[i] == doctest::Approx(expected[i]).epsilon(1e-10));
}
