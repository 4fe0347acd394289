// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/vector_norm.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;
constexpr double infinity = std::numeric_limits<double>::infinity();
const std::vector<std::int64_t> sizes{1, 2, 7, 17};

// Numbers of at least 0.3, so that no vector is short
template <class T> using two = arguments<tl::tensor<T, n, 5>, tl::tensor<T, n, 5>>;
const std::vector<domain> domains{{0.3, 2, true}, {0.3, 2, true}};
template <class Op, class Ref> constexpr auto composed(const char* name, Op op, Ref r) {
  return pair(name, op, r, 64);
}
template <class T> ref::array<T> at_least(const ref::array<T>& x, double eps) {
  return ref::map<T>(x, [eps](T y) { return ref::larger(y, T(eps)); });
}
constexpr auto norms = cases<two<double>>(
    composed(
        "norm", [](const auto& x, const auto&) { return tl::norm(x); },
        [](const auto& x, const auto&) { return ref::norm(x, {0, 1}); }),
    composed(
        "norm<1>", [](const auto& x, const auto&) { return tl::norm<1>(x); },
        [](const auto& x, const auto&) { return ref::norm(x, {1}); }),
    composed(
        "norm<0>, keepdims", [](const auto& x, const auto&) { return tl::norm<0>(x, tl::keepdims); },
        [](const auto& x, const auto&) { return ref::norm(x, {0}, 2, true); }),
    composed(
        "norm<1>, 1", [](const auto& x, const auto&) { return tl::norm<1>(x, 1); },
        [](const auto& x, const auto&) { return ref::norm(x, {1}, 1); }),
    composed(
        "norm<1>, infinity", [](const auto& x, const auto&) { return tl::norm<1>(x, infinity); },
        [](const auto& x, const auto&) { return ref::norm(x, {1}, infinity); }),
    composed(
        "norm<-1>, 3, keepdims", [](const auto& x, const auto&) { return tl::norm<-1>(x, 3, tl::keepdims); },
        [](const auto& x, const auto&) { return ref::norm(x, {1}, 3, true); }),
    composed(
        "normalize<1>", [](const auto& x, const auto&) { return tl::normalize<1>(x); },
        [](const auto& x, const auto&) { return x / at_least(ref::norm(x, {1}, 2, true), 1e-12); }),
    composed(
        "cosine_similarity", [](const auto& x, const auto& y) { return tl::cosine_similarity(x, y); },
        [](const auto& x, const auto& y) {
          return ref::sum(x * y, {1}) / at_least(ref::norm(x, {1}) * ref::norm(y, {1}), 1e-8);
        }),
    composed(
        "pairwise_distance", [](const auto& x, const auto& y) { return tl::pairwise_distance(x, y * 3.0); },
        [](const auto& x, const auto& y) {
          using T = typename std::remove_cvref_t<decltype(x)>::value_type;
          return ref::norm(x - y * ref::constant(T(3)), {1});
        }));
constexpr auto deviations = cases<two<double>>(
    composed(
        "variance", [](const auto& x, const auto&) { return tl::variance(x); },
        [](const auto& x, const auto&) { return ref::variance(x, {0, 1}); }),
    composed(
        "variance<1>, unbiased", [](const auto& x, const auto&) { return tl::variance<1>(x, tl::unbiased); },
        [](const auto& x, const auto&) { return ref::variance(x, {1}, true); }),
    composed(
        "variance<1>, keepdims", [](const auto& x, const auto&) { return tl::variance<1>(x, tl::keepdims); },
        [](const auto& x, const auto&) { return ref::variance(x, {1}, false, true); }),
    composed(
        "std_dev<1>", [](const auto& x, const auto&) { return tl::std_dev<1>(x); },
        [](const auto& x, const auto&) { return ref::root(ref::variance(x, {1})); }));

// The value and gradient of f at a vector of three
template <class F> std::tuple<float, std::vector<float>> at(F, std::vector<float> x) {
  using V = tl::tensor<float, 3>;
  auto run = tl::jit([](auto v) { return tl::value_and_grad(F{})(v); }).template bind<V>();
  const auto [y, g] = run(V(x.data()));
  return {y[0], {g[0], g[1], g[2]}};
}
using found = std::tuple<float, std::vector<float>>;

} // namespace

TEST_CASE("norms: the laws hold") { check_laws(norms, sizes, domains); }
TEST_CASE("norms: float equals the reference") { check_values(with<two<float>>(norms), sizes, domains); }
TEST_CASE("variance, std_dev: the laws hold") { check_laws(deviations, {2, 7, 17}, domains); }
TEST_CASE("variance, std_dev: float equals the reference") {
  check_values(with<two<float>>(deviations), {2, 7, 17}, domains);
}
TEST_CASE("norms of nothing are 0") {
  using X = tl::tensor<float, 0, 4>;
  auto run =
      tl::jit([](auto x) { return std::tuple{tl::norm(x), tl::norm<0>(x, 1), tl::norm<0>(x, 3)}; }).bind<X>();
  const auto [a, b, c] = run(X{});
  CHECK(a[0] == 0);
  for (int i = 0; i < 4; ++i) {
    CHECK(b[i] == 0);
    CHECK(c[i] == 0);
  }
}
TEST_CASE("norms: the derivative is 0 where all is 0, and 2 x of a square") {
  const found zero{0.0f, {0, 0, 0}};
  CHECK(at([](auto x) { return tl::norm(x); }, {0, 0, 0}) == zero);
  CHECK(at([](auto x) { return tl::norm(x, 1); }, {0, 0, 0}) == zero);
  CHECK(at([](auto x) { return tl::norm(x, infinity); }, {0, 0, 0}) == zero);
  CHECK(at([](auto x) { return tl::norm(x, 3); }, {0, 0, 0}) == zero);
  CHECK(at([](auto x) { return tl::norm(x, 0.5); }, {0, 0, 0}) == zero);
  CHECK(at([](auto x) { return square(tl::norm(x)); }, {0, 0, 0}) == zero);
  CHECK(at([](auto x) { return square(tl::norm(x)); }, {3, 0, -4}) == found{25.0f, {6, 0, -8}});
  CHECK(at([](auto x) { return tl::norm(x, 0.5); }, {1, 4, 0}) == found{9.0f, {3, 1.5f, 0}});
  CHECK(at([](auto x) { return tl::pairwise_distance(x, x * 1.0); }, {1, 2, 3}) == zero);
  CHECK(std::get<0>(at([](auto x) { return tl::sum(tl::normalize(x)); }, {0, 0, 0})) == 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(std::get<0>(at([](auto x) { return tl::norm(x); }, {nan, 0, 0}))));
}
TEST_CASE("cosine_similarity: operands broadcast") {
  using X = tl::tensor<double, 3, 2>;
  double x[] = {1, 2, 3, 4, 5, 6}, y[] = {2, -1};
  constexpr auto f = [](auto a, auto b) {
    return std::tuple{tl::cosine_similarity<0>(a, b), tl::cosine_similarity(a, tl::reshape<1, 2>(b)),
                      tl::cosine_similarity<0, 1>(b, a)};
  };
  auto run = tl::jit(f).bind<X, tl::tensor<double, 2>>();
  const auto [columns, rows, all] = run(X(x), tl::tensor<double, 2>(y));
  CHECK(columns[0] == doctest::Approx(9 / std::sqrt(35.0 * 3)));
  CHECK(columns[1] == doctest::Approx(-12 / std::sqrt(56.0 * 3)));
  CHECK(rows[1] == doctest::Approx(2 / (5 * std::sqrt(5.0))));
  CHECK(all[0] == doctest::Approx((18 - 12) / std::sqrt(91.0 * 15)));
}
TEST_CASE("std_dev: 0 and without a derivative where all are equal; exact far from 0") {
  CHECK(at([](auto x) { return tl::std_dev(x); }, {3, 3, 3}) == found{0.0f, {0, 0, 0}});
  CHECK(at([](auto x) { return tl::std_dev(x); }, {0.1f, 0.1f, 0.1f}) == found{0.0f, {0, 0, 0}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(std::get<1>(at([](auto x) { return tl::variance(x); }, {nan, 1, 2}))[1]));
  const auto [y, g] = at([](auto x) { return tl::std_dev(x); }, {1e6f, 1e6f + 1, 1e6f + 2});
  CHECK(y == doctest::Approx(std::sqrt(2.0 / 3)));
  CHECK(g[0] == doctest::Approx(-std::sqrt(1.0 / 6)));
  CHECK(g[1] == doctest::Approx(0));
}
