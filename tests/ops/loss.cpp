// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// softmax, logsumexp and the losses where the laws do not reach: far from zero, and of infinite numbers.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace tl = tapeless;

namespace {

constexpr float endless = std::numeric_limits<float>::infinity();
constexpr int classes = 5;
using rows = tl::tensor<float, 2, classes>;
using row = tl::tensor<float, classes>;
using labels = tl::tensor<std::int32_t, 2>;

// log_softmax in double of each row
std::vector<double> log_softmax(const std::vector<float>& x) {
  std::vector<double> y;
  for (std::size_t at = 0; at < x.size(); at += classes) {
    double top = x[at], sum = 0;
    for (std::size_t i = at; i < at + classes; ++i) top = std::fmax(top, x[i]);
    for (std::size_t i = at; i < at + classes; ++i) sum += std::exp(x[i] - top);
    for (std::size_t i = at; i < at + classes; ++i) y.push_back(x[i] - top - std::log(sum));
  }
  return y;
}
template <class View> bool all_are(const View& v, float expected) {
  bool all = true;
  for (const float x : v) all = all && (std::isnan(expected) ? std::isnan(x) : x == expected);
  return all;
}

constexpr auto entropies = [](auto x, auto l) { return tl::softmax_cross_entropy(x, l); };
constexpr auto ignoring = [](auto x, auto l) {
  return tl::softmax_cross_entropy<tl::ignore_label{-1}>(x, l);
};
constexpr auto by_hand = [](auto x) { return x - tl::logsumexp<1>(x, tl::keepdims); };
constexpr auto by_hand_without_keepdims = [](auto x) { return x - tl::reshape<2, 1>(tl::logsumexp<1>(x)); };
constexpr auto of_logits = [](auto x, auto l, auto u, auto v) {
  constexpr auto f = [](auto a) { return tl::log_softmax(a); };
  return std::tuple{tl::log_softmax(x),
                    by_hand(x),
                    by_hand_without_keepdims(x),
                    tl::transpose(tl::log_softmax<0>(tl::transpose(x))),
                    entropies(x, l),
                    ignoring(x, l),
                    tl::vjp<0>(f)(x, u),
                    tl::vjp<0>(by_hand)(x, u),
                    tl::jvp<0>(f)(x, v)};
};

constexpr auto total = [](auto x) { return tl::logsumexp(x); };
constexpr auto of_a_row = [](auto x, auto v) {
  return std::tuple{total(x), tl::grad(total)(x), tl::hvp(total)(x, v), tl::jvp(total)(x, v)};
};
constexpr auto squares = [](auto x) { return sum(square(tl::softmax(x, tl::masked_rows_zero))); };

} // namespace

TEST_CASE("log_softmax, the cross entropy and a - logsumexp(a): no digit is lost far from zero") {
  auto run = tl::jit(of_logits).bind<rows, labels, rows, rows>();
  std::int32_t label[] = {3, 0};
  for (const float at : {0.f, 1e2f, -1e4f, 1e6f, -1e6f, 1e7f, -1.6e7f}) {
    CAPTURE(at);
    std::vector<float> x, u, v;
    for (int i = 0; i < 2 * classes; ++i) {
      x.push_back(at + static_cast<float>(i * 7 % 5));
      u.push_back(0.25f + 0.5f * static_cast<float>(i % 3));
      v.push_back(1 - 0.75f * static_cast<float>(i % 4));
    }
    const auto expected = log_softmax(x);
    const auto r = run(rows(x.data()), labels(label), rows(u.data()), rows(v.data()));
    const auto near = [](float y, double e) { return std::abs(y - e) <= 2e-6 * std::fmax(1.0, std::abs(e)); };
    bool values = true, derivatives = true;
    for (int i = 0; i < 2 * classes; ++i) {
      const std::size_t k = static_cast<std::size_t>(i), first = k / classes * classes;
      values = values && near(std::get<0>(r)[i], expected[k]) && near(std::get<1>(r)[i], expected[k]) &&
               near(std::get<2>(r)[i], expected[k]) && near(std::get<3>(r)[i], expected[k]);
      double u_sum = 0, v_mean = 0;
      for (std::size_t j = first; j < first + classes; ++j) {
        u_sum += u[j];
        v_mean += std::exp(expected[j]) * v[j];
      }
      const double x_bar = u[k] - std::exp(expected[k]) * u_sum;
      derivatives = derivatives && near(std::get<6>(r)[i], x_bar) && near(std::get<7>(r)[i], x_bar) &&
                    near(std::get<8>(r)[i], v[k] - v_mean);
    }
    CHECK(values);
    CHECK(derivatives);
    for (int i = 0; i < 2; ++i) {
      const double e = -expected[static_cast<std::size_t>(classes * i + label[i])];
      CHECK(near(std::get<4>(r)[i], e));
      CHECK(near(std::get<5>(r)[i], e));
    }
  }
}

TEST_CASE("logsumexp of nothing but -inf is -inf, and all its derivatives are 0") {
  auto run = tl::jit(of_a_row).bind<row, row>();
  float v[] = {1, -2, 3, 4, 5};
  std::vector<float> x(classes, -endless);
  const auto [y, g, h, tangent] = run(row(x.data()), row(v));
  CHECK(y[0] == -endless);
  CHECK(all_are(g, 0));
  CHECK(all_are(h, 0));
  CHECK(tangent[0] == 0);
}

TEST_CASE("logsumexp: an entry of -inf has the derivative 0") {
  auto run = tl::jit(of_a_row).bind<row, row>();
  float v[] = {1, -2, 3, 4, 5};
  float x[] = {-endless, 1, -endless, 1, -endless};
  const auto [y, g, h, tangent] = run(row(x), row(v));
  CHECK(y[0] == doctest::Approx(1 + std::log(2.0)));
  const float expected[] = {0, 0.5f, 0, 0.5f, 0}, second[] = {0, -1.5f, 0, 1.5f, 0};
  for (int i = 0; i < classes; ++i) {
    CHECK(g[i] == doctest::Approx(expected[i]));
    CHECK(h[i] == doctest::Approx(second[i]));
    if (i % 2 == 0) CHECK(g[i] == 0);
  }
  CHECK(tangent[0] == doctest::Approx(1));
}

TEST_CASE("logsumexp of a row with +inf is +inf; the derivative is NaN there and 0 elsewhere") {
  auto run = tl::jit(of_a_row).bind<row, row>();
  float v[] = {1, 1, 1, 1, 1};
  float x[] = {0, 100, endless, -endless, 3e38f};
  const auto& [y, g, h, tangent] = run(row(x), row(v));
  CHECK(y[0] == endless);
  for (int i = 0; i < classes; ++i) CHECK((i == 2 ? std::isnan(g[i]) : g[i] == 0));
}

TEST_CASE("logsumexp of a logsumexp of nothing: a dead state passes nothing") {
  constexpr auto step = [](auto x, auto alive) {
    auto z = x + alive;
    auto dead = tl::reshape<1>(tl::logsumexp(tl::slice<0, 0, 2>(z)));
    return tl::logsumexp(tl::concat<0>(dead, tl::slice<0, 2, 3>(z)));
  };
  using V = tl::tensor<float, 3>;
  float x[] = {0.1f, 0.2f, 0.3f}, alive[] = {-endless, -endless, 0};
  auto run = tl::jit(tl::value_and_grad<0>(step)).bind<V, V>();
  const auto [value, g] = run(V(x), V(alive));
  CHECK(value[0] == 0.3f);
  CHECK(g[0] == 0);
  CHECK(g[1] == 0);
  CHECK(g[2] == 1);
}

TEST_CASE("softmax of a row of -inf is NaN, and 0 with the derivative 0 by masked_rows_zero") {
  constexpr auto f = [](auto x, auto v) {
    return std::tuple{tl::softmax(x), tl::softmax(x, tl::masked_rows_zero), tl::grad(squares)(x),
                      tl::hvp(squares)(x, v), tl::softmax<0>(x, tl::masked_rows_zero)};
  };
  auto run = tl::jit(f).bind<rows, rows>();
  std::vector<float> x(2 * classes, -endless), v(2 * classes, 1.0f);
  for (int i = 0; i < 3; ++i) x[classes + static_cast<std::size_t>(i)] = 2;
  v[classes] = 2;
  const auto [plain, masked, g, h, columns] = run(rows(x.data()), rows(v.data()));
  for (int i = 0; i < classes; ++i) {
    CHECK(std::isnan(plain[i]));
    CHECK(masked[i] == 0);
    CHECK(g[i] == 0);
    CHECK(h[i] == 0);
    const double p = i < 3 ? 1.0 / 3 : 0; // of the other row
    CHECK(plain[classes + i] == doctest::Approx(p));
    CHECK(masked[classes + i] == plain[classes + i]);
    CHECK(std::abs(g[classes + i]) < 1e-7);
    CHECK(h[classes + i] == doctest::Approx(i == 0 ? 4.0 / 27 : i < 3 ? -2.0 / 27 : 0));
    CHECK(columns[i] == 0);
    CHECK(columns[classes + i] == (i < 3 ? 1 : 0));
  }
}

TEST_CASE("a difference that is not that to logsumexp stays what it is") {
  static constexpr auto off_by_one = [](auto x) { // log of exp(x) / (1 + sum exp(x))
    const auto m = tl::stop_gradient(tl::max<0>(x, tl::keepdims));
    return x - (m + log(exp(-m) + tl::sum<0>(exp(x - m), tl::keepdims)));
  };
  static constexpr auto of_rows = [](auto x) { // the maximum of all, the sum of rows
    const auto m = tl::stop_gradient(tl::max<0, 1>(x, tl::keepdims));
    return x - (m + log(1.0f + tl::sum<1>(exp(x - m), tl::keepdims)));
  };
  std::vector<float> x(2 * classes, 0.0f);
  auto one = tl::jit(off_by_one).bind<row>();
  CHECK(one(row(x.data()))[0] == doctest::Approx(-std::log(1.0 + classes)));
  auto rowwise = tl::jit(of_rows).bind<rows>();
  CHECK(rowwise(rows(x.data()))(0, 0) == doctest::Approx(-std::log(1.0 + classes)));
}
