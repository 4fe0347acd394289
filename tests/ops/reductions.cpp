// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Reductions where the laws do not reach: NaN, ties, zeros with signs, nothing to reduce, what a mask leaves out.
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
                 not_a_number = std::numeric_limits<double>::quiet_NaN();
using V = tl::tensor<double, 4>;
using M = tl::tensor<double, 3, 4>;
using B = tl::tensor<bool, 3, 4>;

template <class View> std::vector<double> all_of(const View& v) { return {v.begin(), v.end()}; }
using numbers = std::vector<double>;
// Are they equal, a NaN to a NaN?
bool same(const numbers& a, const numbers& b) {
  bool yes = a.size() == b.size();
  for (std::size_t i = 0; yes && i < a.size(); ++i) yes = a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]);
  return yes;
}
// The value of f, reduced to a sum, and its gradient
template <class F> std::tuple<numbers, numbers> at(F, numbers x, const std::vector<char>& m) {
  constexpr auto both = [](auto a, auto b) {
    return std::tuple{F{}(a, b), tl::grad<0>([](auto c, auto d) { return tl::sum(F{}(c, d)); })(a, b)};
  };
  bool mask[12];
  for (std::size_t i = 0; i < 12; ++i) mask[i] = m[i] != 0;
  auto run = tl::jit(both).template bind<M, B>();
  const auto [y, g] = run(M(x.data()), B(mask));
  return {all_of(y), all_of(g)};
}
// row 0: two equal ones count, row 1: one, row 2: none. What does not count is NaN.
const numbers with_nan{2,
                       not_a_number,
                       2,
                       -1,
                       not_a_number,
                       5,
                       not_a_number,
                       not_a_number,
                       not_a_number,
                       not_a_number,
                       not_a_number,
                       not_a_number};
const std::vector<char> counts{1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0};

} // namespace

TEST_CASE("min, argmin: the first of equal ones, and of NaN") {
  constexpr auto f = [](auto x) {
    return std::tuple{tl::min(x), tl::argmin(x), tl::grad([](auto v) { return tl::min(v); })(x)};
  };
  auto run = tl::jit(f).bind<V>();
  const auto of = [&](numbers x) {
    const auto [y, i, g] = run(V(x.data()));
    return std::tuple{y[0], i[0], all_of(g)};
  };
  CHECK(of({3, 1, 2, 1}) == std::tuple{1.0, 1, numbers{0, 1, 0, 0}});
  CHECK(of({0.0, -0.0, 2, 1}) == std::tuple{0.0, 0, numbers{1, 0, 0, 0}});
  CHECK(of({endless, endless, endless, endless}) == std::tuple{endless, 0, numbers{1, 0, 0, 0}});
  const auto [y, i, g] = of({-endless, not_a_number, 1, not_a_number});
  CHECK(std::isnan(y));
  CHECK(i == 1);
  CHECK(g == numbers{0, 1, 0, 0});
}
TEST_CASE("argmin of int32 and of bools, over the whole range") {
  constexpr auto f = [](auto i, auto b) { return std::tuple{tl::argmin<1>(i), tl::argmin<1>(b)}; };
  std::int32_t x[] = {2147483647, -2147483647 - 1, 0, -2147483647 - 1, 2147483647, 2147483646};
  bool b[] = {true, false, false, true, true, true};
  auto run = tl::jit(f).bind<tl::tensor<std::int32_t, 2, 3>, tl::tensor<bool, 2, 3>>();
  const auto [i, j] = run(tl::tensor<std::int32_t, 2, 3>(x), tl::tensor<bool, 2, 3>(b));
  CHECK(all_of(i) == numbers{1, 0});
  CHECK(all_of(j) == numbers{1, 0});
}
TEST_CASE("argmax and argmin with keepdims keep the axes with extent 1, also where extents are values") {
  using N = tl::tensor<double, tl::dyn<'n'>, 3>;
  constexpr auto f = [](auto x) {
    tl::var v = x;
    return std::tuple{tl::argmax<1>(x, tl::keepdims), tl::argmin<0>(x, tl::keepdims),
                      tl::argmin(x, tl::keepdims),
                      tl::argmax<-1>(v, tl::keepdims).template as<std::int32_t, tl::dyn<'n'>, 1>(),
                      tl::take_along_axis<1>(x, tl::argmin<1>(x, tl::keepdims))};
  };
  static_assert(std::is_same_v<decltype(tl::argmin(N{}, tl::keepdims)), tl::tensor<std::int32_t, 1, 1>>);
  double x[] = {1, 3, 2, 0, -1, 5};
  auto run = tl::jit(f).bind<N>(tl::dim<'n'>(2));
  const auto [last, first, whole, of_var, least] = run(N(x, 2));
  CHECK(all_of(last) == numbers{1, 2});
  CHECK(last.rank() == 2);
  CHECK(all_of(first) == numbers{1, 1, 0});
  CHECK(first.extent(0) == 1);
  CHECK(all_of(whole) == numbers{4});
  CHECK(all_of(of_var) == numbers{1, 2});
  CHECK(all_of(least) == numbers{1, -1});
}
TEST_CASE("any, all: of each row, of all, of nothing, beside doubles and floats") {
  using N = tl::tensor<bool, tl::dyn<'n'>, 3>;
  constexpr auto f = [](auto b) {
    return std::tuple{tl::any<1>(b), tl::all<-1>(b, tl::keepdims), tl::any(b),
                      tl::all(b),    tl::any<0>(b, tl::keepdims),  tl::all<0>(b)};
  };
  auto run = tl::jit(f).bind<N>(tl::dim<'n'>(3));
  bool b[] = {true, true, true, false, true, false, false, false, false};
  {
    const auto& [any_1, all_1, any, all, any_0, all_0] = run(N(b, 3));
    CHECK(all_of(any_1) == numbers{1, 1, 0});
    CHECK(all_of(all_1) == numbers{1, 0, 0});
    CHECK(all_1.rank() == 2);
    CHECK(any[0]);
    CHECK(!all[0]);
    CHECK(all_of(any_0) == numbers{1, 1, 1});
    CHECK(all_of(all_0) == numbers{0, 0, 0});
  }
  const auto& [any_1, all_1, any, all, any_0, all_0] = run(N(static_cast<bool*>(b), 0));
  CHECK(any_1.size() == 0);
  CHECK(all_1.size() == 0);
  CHECK(!any[0]);
  CHECK(all[0]);
  CHECK(all_of(any_0) == numbers{0, 0, 0});
  CHECK(all_of(all_0) == numbers{1, 1, 1});

  constexpr auto beside = [](auto x) {
    return tl::where(tl::all<1>(x > 0.0, tl::keepdims), x, 0.0) * tl::cast<double>(tl::any<0>(x < 0.0));
  };
  double x[] = {1, 2, 3, -4, 5, 6};
  auto doubles = tl::jit(beside).bind<tl::tensor<double, 2, 3>>();
  CHECK(all_of(doubles(tl::tensor<double, 2, 3>(x))) == numbers{1, 0, 0, 0, 0, 0});
}

TEST_CASE("over(mask): what does not count is not read, and gets the derivative 0") {
  const auto check = [](auto f, const numbers& value, const numbers& gradient) {
    const auto [y, g] = at(f, with_nan, counts);
    CHECK(same(y, value));
    CHECK(same(g, gradient));
  };
  check([](auto x, auto m) { return tl::sum<1>(x, tl::over(m)); }, {3, 5, 0},
        {1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0});
  check([](auto x, auto m) { return tl::mean<1>(x * 3.0, tl::over(m)); }, {3, 15, not_a_number},
        {1, 0, 1, 1, 0, 3, 0, 0, 0, 0, 0, 0});
  check([](auto x, auto m) { return tl::max<1>(x, tl::over(m)); }, {2, 5, -endless},
        {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0});
  check([](auto x, auto m) { return tl::min<1>(x, tl::over(m)); }, {-1, 5, endless},
        {0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0});
  check([](auto x, auto m) { return tl::variance<1>(x, tl::over(m)); }, {2, 0, not_a_number},
        {2.0 / 3, 0, 2.0 / 3, -4.0 / 3, 0, 0, 0, 0, 0, 0, 0, 0});
  check([](auto x, auto m) { return tl::variance<1>(x, tl::over(m), tl::unbiased); },
        {3, not_a_number, not_a_number}, {1, 0, 1, -2, 0, not_a_number, 0, 0, 0, 0, 0, 0});
  const auto [y, g] =
      at([](auto x, auto m) { return tl::logsumexp<1>(x * 1e-300, tl::over(m)); }, with_nan, counts);
  CHECK(y[0] == doctest::Approx(std::log(3.0)));
  CHECK(y[1] == 5e-300);
  CHECK(y[2] == -endless);
  for (const std::size_t i : {1u, 4u, 6u, 8u, 9u, 11u}) CHECK(g[i] == 0);
}
TEST_CASE("softmax, log_softmax over a mask: 0 and -inf elsewhere, and in a row where nothing counts") {
  const auto [p, g] =
      at([](auto x, auto m) { return tl::square(tl::softmax(x, tl::over(m))); }, with_nan, counts);
  const auto [l, h] = at([](auto x, auto m) { return tl::log_softmax(x, tl::over(m)); }, with_nan, counts);
  const double e = std::exp(-3.0), q = 1 / (2 + e);
  CHECK(p[0] == doctest::Approx(q * q));
  CHECK(p[3] == doctest::Approx(e * q * e * q));
  CHECK(p[5] == 1);
  CHECK(l[2] == doctest::Approx(std::log(q)));
  CHECK(l[5] == 0);
  CHECK(h[3] == doctest::Approx(1 - 3 * e * q));
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(!std::isnan(g[i]));
    CHECK(!std::isnan(h[i]));
    if (counts[i] != 0) continue;
    CHECK(p[i] == 0);
    CHECK(l[i] == -endless);
    CHECK(g[i] == 0);
    CHECK(h[i] == 0);
  }
}
TEST_CASE("a mean over a mask of rows leaves rows out of the products, forward and adjoint") {
  using X = tl::tensor<float, 1024, 64>;
  using W = tl::tensor<float, 64, 256>;
  static constexpr auto losses = [](auto x, auto w) { return tl::sum<1>(square(tanh(tl::matmul(x, w)))); };
  constexpr auto masked = tl::jit(
      tl::value_and_grad<1>([](auto x, auto w, auto m) { return tl::mean(losses(x, w), tl::over(m)); }));
  constexpr auto by_hand = tl::jit(tl::value_and_grad<1>([](auto x, auto w, auto m) {
    return tl::sum(tl::where(m, losses(x, w), 0.0f)) / tl::sum(tl::cast<float>(m));
  }));
  constexpr tl::cost a = masked.cost<X, W, tl::tensor<bool, 1024>>(),
                     b = by_hand.cost<X, W, tl::tensor<bool, 1024>>();
  const auto quarter = [](const tl::cost& c) { return c.flops().at(tl::dim<'k'>(256), tl::dim<'l'>(256)); };
  CHECK(quarter(a) == quarter(b));
  const auto dense =
      tl::jit(tl::value_and_grad<1>([](auto x, auto w) { return tl::mean(losses(x, w)); })).cost<X, W>();
  CHECK(quarter(a) < 0.26 * quarter(dense));
}
TEST_CASE("reductions over a mask: of vars, of named extents, of a mask that is repeated along an axis") {
  using N = tl::tensor<double, tl::dyn<'n'>, 4>;
  using R = tl::tensor<bool, tl::dyn<'n'>, 1>;
  using C = tl::tensor<bool, 4>;
  constexpr auto f = [](auto x, auto rows, auto columns) {
    const tl::var v = x, m = columns, r = rows;
    return std::tuple{tl::mean(x, tl::over(rows)),
                      tl::mean(v, tl::over(r)).template as<double>(),
                      tl::mean<1>(v, tl::over(m)).template as<double, tl::dyn<'n'>>(),
                      tl::mean<0>(x, tl::over(columns)),
                      tl::min<0>(v, tl::over(columns), tl::keepdims).template as<double, 1, 4>(),
                      tl::variance(x, tl::over(rows && columns), tl::unbiased),
                      tl::any<0>(v > 0.0, tl::keepdims).template as<bool, 1, 4>(),
                      tl::softmax<0>(v, tl::over(r)).template as<double, tl::dyn<'n'>, 4>(),
                      tl::argmin<0>(v).template as<std::int32_t, 4>()};
  };
  auto run = tl::jit(f).bind<N, R, C>(tl::dim<'n'>(3));
  double x[] = {1, 2, 3, 4, not_a_number, not_a_number, not_a_number, not_a_number, 5, 2, 9, 8};
  bool rows[] = {true, false, true}, columns[] = {true, false, true, false};
  const auto& [all, of_vars, by_columns, by_rows, least, deviation, any, likely, at] =
      run(N(x, 3), R(rows, 3), C(columns));
  CHECK(all[0] == 34.0 / 8);
  CHECK(of_vars[0] == all[0]);
  CHECK(same(all_of(by_columns), {2, not_a_number, 7}));
  CHECK(std::isnan(by_rows[0]));
  CHECK(std::isnan(by_rows[1])); // of none
  CHECK(std::isnan(least[0]));
  CHECK(least[1] == endless);
  CHECK(deviation[0] == doctest::Approx(35.0 / 3));
  CHECK(all_of(any) == numbers{1, 1, 1, 1});
  CHECK(likely[1] == 0.5);
  CHECK(likely[4] == 0);
  CHECK(at[0] == 1);
}
