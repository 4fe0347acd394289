// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/scan.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;
const std::vector<std::int64_t> sizes{0, 1, 2, 7, 17, 64};

template <int Axis> constexpr auto along(const char* name) {
  return pair(
      name, [](const auto& x) { return tl::cumsum<Axis>(x); },
      [](const auto& x) { return ref::cumsum(x, Axis); }, 16, scale::terms);
}
template <class T> using cube = arguments<tl::tensor<T, 3, 5, 19>>;
constexpr auto axes =
    cases<cube<double>>(along<0>("cumsum<0>"), along<1>("cumsum<1>"), along<-1>("cumsum<-1>"));
template <class T> using named = arguments<tl::tensor<T, n, 3>>;
constexpr auto rows = cases<named<double>>(along<0>("named rows"), along<1>("along 3 of n rows"));
template <class T> using thin = arguments<tl::tensor<T, 1, 4, 1>>;
constexpr auto thin_axes = cases<thin<double>>(along<0>("one element"), along<1>("a column"));
template <class T> using empty = arguments<tl::tensor<T, 2, 0, 3>>;
constexpr auto no_elements = cases<empty<double>>(along<1>("no element"), along<2>("no row"));

// The other running ops. k of 16 factors or terms round k times.
template <int Axis> constexpr auto products(const char* name) {
  return pair(
      name, [](const auto& x, const auto&) { return tl::cumprod<Axis>(x); },
      [](const auto& x, const auto&) { return ref::cumprod(x, Axis); }, 32);
}
template <int Axis> constexpr auto maxima(const char* name) {
  return pair(
      name, [](const auto& x, const auto&) { return tl::cummax<Axis>(x); },
      [](const auto& x, const auto&) { return ref::cummax(x, Axis); }, exact);
}
template <int Axis> constexpr auto minima(const char* name) {
  return pair(
      name, [](const auto& x, const auto&) { return tl::cummin<Axis>(x); },
      [](const auto& x, const auto&) { return ref::cummin(x, Axis); }, exact);
}
template <int Axis> constexpr auto linear(const char* name) {
  return pair(
      name, [](const auto& x, const auto& y) { return tl::linear_scan<Axis>(x, y); },
      [](const auto& x, const auto& y) { return ref::linear_scan(x, y, Axis); }, 32, scale::terms);
}
// Named: the axis has a named extent
template <int Axis, bool Named = false> constexpr auto log_sums(const char* name) {
  return pair(
      name, [](const auto& x, const auto&) { return tl::logcumsumexp<Axis>(x); },
      [](const auto& x, const auto&) { return ref::logcumsumexp(x, Axis, Named); }, 64, scale::terms);
}
template <bool Named, int... Axes> constexpr auto product(const char* name) {
  return pair(
      name, [](const auto& x, const auto&) { return tl::prod<Axes...>(x); },
      [](const auto& x, const auto&) {
        return ref::prod(x, sizeof...(Axes) == 0 ? ref::all_axes(x.rank()) : ref::dims{Axes...}, false,
                         Named);
      },
      64);
}
template <class T> using cubes = arguments<tl::tensor<T, 2, 5, 9>, tl::tensor<T, 2, 5, 9>>;
constexpr auto running = cases<cubes<double>>(
    products<0>("cumprod<0>"), products<1>("cumprod<1>"), products<-1>("cumprod<-1>"), maxima<0>("cummax<0>"),
    maxima<1>("cummax<1>"), maxima<2>("cummax<2>"), minima<1>("cummin<1>"), linear<0>("linear_scan<0>"),
    linear<1>("linear_scan<1>"), linear<-1>("linear_scan<-1>"), log_sums<1>("logcumsumexp<1>"),
    log_sums<-1>("logcumsumexp<-1>"));
constexpr auto reduced = cases<cubes<double>>(
    product<false, 0>("prod<0>"), product<false, 1>("prod<1>"), product<false, -1>("prod<-1>"),
    product<false, 0, 2>("prod<0, 2>"), product<false, 1, 2>("prod<1, 2>"),
    pair(
        "prod<1>, keepdims", [](const auto& x, const auto& y) { return y - tl::prod<1>(x, tl::keepdims); },
        [](const auto& x, const auto& y) { return y - ref::prod(x, {1}, true); }, 32, scale::terms));
template <class T> using named_two = arguments<tl::tensor<T, n, 3>, tl::tensor<T, n, 3>>;
constexpr auto named_running = cases<named_two<double>>(
    products<0>("cumprod<0>"), products<1>("cumprod<1>"), maxima<0>("cummax<0>"), minima<1>("cummin<1>"),
    linear<0>("linear_scan<0>"), linear<1>("linear_scan<1>"), log_sums<0, true>("logcumsumexp<0>"),
    product<true, 0>("prod<0>"), product<false, 1>("prod<1>"), product<true>("prod"));
template <class T> using thin_two = arguments<tl::tensor<T, 1, 4, 1>, tl::tensor<T, 1, 4, 1>>;
constexpr auto thin_running = cases<thin_two<double>>(
    products<0>("cumprod of one"), products<1>("cumprod of a column"), maxima<0>("cummax of one"),
    linear<0>("linear_scan of one"), linear<1>("linear_scan of a column"), log_sums<0>("logcumsumexp of one"),
    product<false>("prod of four"));
template <class T> using empty_two = arguments<tl::tensor<T, 2, 0, 3>, tl::tensor<T, 2, 0, 3>>;
constexpr auto empty_running = cases<empty_two<double>>(
    products<1>("cumprod of none"), products<2>("cumprod of no row"), maxima<1>("cummax of none"),
    linear<1>("linear_scan of none"), log_sums<2>("logcumsumexp of no row"));
// What y gives to the places of the running maxima: cumargmax stands in derivatives only.
constexpr auto transposed = cases<cubes<double>>(pair(
    "the transpose of cummax<1>",
    [](const auto& x, const auto& y) {
      return tl::vjp<0>([](const auto& a) { return tl::cummax<1>(a); })(x, y);
    },
    [](const auto& x, const auto& y) {
      return ref::sums_along(x.shape, ref::cumargmax(x, 1), y, 1, ref::index_of::program);
    },
    exact));
const std::vector<std::int64_t> few{0, 1, 2, 7, 17}; // a product of more underflows
const std::vector<domain> distinct{{-1.5, 1.5, true}, {-1.5, 1.5, true}};

constexpr auto conv = [](auto x, auto w) { return tl::conv2d<tl::conv{.padding = 1}>(x, w); };

using tl::detail::scan_rules;
static_assert(counts(scan_rules, axes, running, reduced, transposed));

} // namespace

TEST_CASE("cumsum: the laws hold for every axis") { check_laws(axes, no_names, {{-1, 1}}); }
TEST_CASE("cumsum: the laws hold for a named extent") { check_laws(rows, sizes, {{-1, 1}}); }
TEST_CASE("cumsum: the laws hold for axes of extent 1 and for no elements") {
  check_laws(thin_axes, no_names, {{-1, 1}});
  check_laws(no_elements, no_names, {{-1, 1}});
}
TEST_CASE("running ops and prod: the laws hold for every axis") {
  check_laws(running, no_names, distinct);
  check_laws(reduced, no_names, distinct);
}
TEST_CASE("running ops and prod: the laws hold for a named extent") {
  check_laws(named_running, few, distinct);
}
TEST_CASE("running ops and prod: the laws hold for axes of extent 1 and for no elements") {
  check_laws(thin_running, no_names, distinct);
  check_laws(empty_running, no_names, distinct);
}
TEST_CASE("cummax: the flops of its transpose are those of the reference") { check_flops(transposed); }
TEST_CASE("running ops and prod: float equals the reference") {
  check_values(with<cubes<float>>(running), no_names, distinct);
  check_values(with<cubes<float>>(reduced), no_names, distinct);
  check_values(with<named_two<float>>(named_running), few, distinct);
}
TEST_CASE("cumsum: float equals the reference") {
  check_values(with<cube<float>>(axes), no_names, {{-1, 1}});
  check_values(with<named<float>>(rows), sizes, {{-1, 1}});
}
TEST_CASE("cumsum: sums of int32 wrap around as + does") {
  using X = tl::tensor<std::int32_t, 2, 5>;
  tl::owned<X> x;
  for (int i = 0; i < 10; ++i) (*x)[i] = i < 5 ? 3 * i - 7 : 1'000'000'000;
  auto run = tl::jit([](auto a) { return tl::cumsum<1>(a); }).bind<X>();
  const auto y = run(*x);
  for (int r = 0; r < 2; ++r)
    for (std::int64_t i = 0, sum = 0; i < 5; ++i) {
      sum += (*x)[5 * r + i];
      CHECK(y[5 * r + i] == static_cast<std::int32_t>(sum));
    }
}
// 2^24 + 1 is no float: one by one the ones would be lost.
TEST_CASE("cumsum: a long sum keeps its small terms; infinity and NaN stay") {
  constexpr tl::extent_t length = 40'000;
  using X = tl::tensor<float, length>;
  tl::owned<X> x;
  for (tl::extent_t i = 0; i < length; ++i) (*x)[i] = i == 0 ? 0x1p24f : 1.0f;
  auto run = tl::jit([](auto a) { return tl::cumsum<0>(a); }).bind<X>();
  {
    const auto y = run(*x);
    bool close = true;
    for (tl::extent_t i = 0; i < length; ++i)
      close = close && std::abs(static_cast<double>(y[i]) - (0x1p24 + static_cast<double>(i))) <= 1;
    CHECK(close);
  }
  const float inf = std::numeric_limits<float>::infinity();
  (*x)[7] = inf;
  CHECK(run(*x)[6] == 0x1p24f + 6);
  CHECK(run(*x)[9] == inf);
  (*x)[8] = -inf;
  CHECK(std::isnan(run(*x)[9]));
}
// The convolutions are in NHWC: an op along an axis runs over another axis in memory. Its facts tell which.
TEST_CASE("cumsum, flip: between convolutions they take the layout of these, and are what they are alone") {
  using image = tl::tensor<double, 2, 32, 7, 7>;
  using filter = tl::tensor<double, 32, 32, 3, 3>;
  tl::owned<image> x;
  tl::owned<filter> w;
  for (tl::extent_t i = 0; i < (*x).size(); ++i) (*x)[i] = 0.01 * static_cast<double>(i % 37) - 0.1;
  for (tl::extent_t i = 0; i < (*w).size(); ++i) (*w)[i] = 0.01 * static_cast<double>(i % 29) - 0.15;
  auto first = tl::jit(conv).bind<image, filter>();
  auto second = tl::jit(conv).bind<image, filter>();
  const auto each = [&](auto sum, auto both) {
    auto alone = tl::jit(sum).template bind<image>();
    auto together = tl::jit(both).template bind<image, filter>();
    const auto expected = second(alone(first(*x, *w)), *w), got = together(*x, *w);
    double off = 0;
    for (tl::extent_t i = 0; i < expected.size(); ++i) off = std::fmax(off, std::abs(got[i] - expected[i]));
    CHECK(off < 1e-9);
  };
  each([](auto a) { return tl::cumsum<1>(a); },
       [](auto a, auto f) { return conv(tl::cumsum<1>(conv(a, f)), f); });
  each([](auto a) { return tl::cumsum<3>(a); },
       [](auto a, auto f) { return conv(tl::cumsum<3>(conv(a, f)), f); });
  each([](auto a) { return tl::flip<1>(a); },
       [](auto a, auto f) { return conv(tl::flip<1>(conv(a, f)), f); });
  each([](auto a) { return tl::flip<2>(a); },
       [](auto a, auto f) { return conv(tl::flip<2>(conv(a, f)), f); });
}
TEST_CASE("cumsum: what no result reads gets no gradient") {
  using X = tl::tensor<double, 4, 3>;
  tl::owned<X> x;
  for (int i = 0; i < 12; ++i) (*x)[i] = i < 6 ? 0.1 * i : 1000; // exp overflows
  const auto check = [&](auto f) {
    auto run = tl::jit(tl::grad(f)).template bind<X>();
    const auto d = run(*x);
    for (int i = 0; i < 12; ++i) CHECK((i < 6 ? d[i] > 0 : d[i] == 0));
  };
  check([](auto a) { return tl::sum(tl::slice<0, 0, 2>(tl::cumsum<1>(exp(a)))); });
  check([](auto a) { return tl::sum(tl::slice<0, 0, 2>(tl::cumsum<0>(exp(a)))); });
}

namespace {

// f at a vector
template <int N, class F> std::vector<double> at(F f, const double (&x)[N]) {
  using X = tl::tensor<double, N>;
  auto run = tl::jit(f).template bind<X>();
  tl::owned<X> v;
  std::copy(x, x + N, v->begin());
  const auto y = run(*v);
  return {y.begin(), y.end()};
}
constexpr double inf = std::numeric_limits<double>::infinity(),
                 not_a_number = std::numeric_limits<double>::quiet_NaN();
bool same(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])))) return false;
  return true;
}

} // namespace

TEST_CASE("cumprod, prod: derivatives are right where factors are 0") {
  constexpr auto all = [](auto x) { return tl::prod(x); };
  constexpr auto running_sum = [](auto x) { return tl::sum(tl::cumprod<0>(x)); };
  CHECK(same(at(tl::grad(all), {2, 0, 3, 5}), {0, 30, 0, 0}));
  CHECK(same(at(tl::grad(all), {2, 0, 3, 0}), {0, 0, 0, 0}));
  CHECK(same(at(tl::grad(running_sum), {2, 0, 3, 5}), {1, 2 + 6 + 30, 0, 0}));
  // the second derivatives along ones: of a product the sum of the products without two of the factors
  constexpr auto along_ones = [](auto x) {
    return tl::grad([](auto v) { return tl::sum(tl::grad([](auto w) { return tl::prod(w); })(v)); })(x);
  };
  CHECK(same(at(along_ones, {2, 0, 3, 0}), {0, 6, 0, 6}));
  CHECK(same(at(along_ones, {2, 0, 3, 5}), {15, 10 + 6 + 15, 10, 6}));
}
TEST_CASE("prod: of nothing it is 1, also of a named axis without elements") {
  auto run = tl::jit([](auto x) { return tl::prod<1>(x); }).bind<tl::tensor<double, 2, n>>(tl::dim<'n'>{3});
  tl::owned<tl::tensor<double, 2, n>> none(tl::dim<'n'>{0}), three(tl::dim<'n'>{3});
  for (int i = 0; i < 6; ++i) (*three)[i] = i + 1;
  CHECK(run(*none)[1] == 1);
  CHECK(run(*three)[1] == 120);
  auto empty = tl::jit([](auto x) { return tl::prod<1>(x); }).bind<tl::tensor<double, 2, 0>>();
  tl::owned<tl::tensor<double, 2, 0>> nothing;
  CHECK(empty(*nothing)[0] == 1);
}
TEST_CASE("prod: a NaN stays, and zero times infinity is one") {
  CHECK(std::isnan(at([](auto x) { return tl::prod(x); }, {2, not_a_number, 0})[0]));
  CHECK(std::isnan(at([](auto x) { return tl::prod(x); }, {0, inf, 2})[0]));
  CHECK(at([](auto x) { return tl::prod(x); }, {-1, inf, 2})[0] == -inf);
}
TEST_CASE("cummax, cummin: a NaN stays; the first of equal extremes gets the cotangent") {
  constexpr auto largest = [](auto x) { return tl::cummax<0>(x); };
  constexpr auto least = [](auto x) { return tl::cummin<0>(x); };
  constexpr auto place = [](auto x) { return tl::cast<double>(tl::cumargmax<0>(x)); };
  CHECK(same(at(largest, {-inf, 1, 1, not_a_number, 5}), {-inf, 1, 1, not_a_number, not_a_number}));
  CHECK(same(at(least, {inf, 1, 1, not_a_number, -5}), {inf, 1, 1, not_a_number, not_a_number}));
  CHECK(same(at(place, {-inf, -inf, 1, 1, not_a_number, not_a_number, 5}), {0, 0, 2, 2, 4, 4, 4}));
  CHECK(
      same(at(tl::grad([](auto x) { return tl::sum(tl::cummax<0>(x)); }), {1, 2, 2, 1, 3}), {1, 3, 0, 0, 1}));
  CHECK(
      same(at(tl::grad([](auto x) { return tl::sum(tl::cummin<0>(x)); }), {3, 2, 2, 4, 1}), {1, 3, 0, 0, 1}));
}
TEST_CASE("logcumsumexp: it neither overflows nor underflows, and begins with -inf") {
  constexpr auto f = [](auto x) { return tl::logcumsumexp<0>(x); };
  const double two = std::log(2.0);
  CHECK(same(at(f, {1000, 1000, -1000, 3000}), {1000, 1000 + two, 1000 + two, 3000}));
  CHECK(same(at(f, {-inf, -inf, 0, -inf}), {-inf, -inf, 0, 0}));
  CHECK(same(at(f, {0, inf, 1}), {0, inf, inf}));
  CHECK(same(at(tl::grad([](auto x) { return tl::sum(tl::logcumsumexp<0>(x)); }), {-inf, -inf, 0, 0}),
             {0, 0, 1.5, 0.5}));
}
TEST_CASE("running ops: what no result reads gets no gradient and gives none, though it is NaN") {
  const double x[] = {0.5, 1.5, 2, not_a_number, 3};
  const auto check = [&](auto f) {
    const std::vector<double> d = at(tl::grad(f), x);
    CHECK((d[0] == d[0] && d[1] == d[1] && d[2] == d[2]));
  };
  check([](auto a) { return tl::sum(tl::slice<0, 0, 3>(tl::cumsum<0>(a))); });
  check([](auto a) { return tl::sum(tl::slice<0, 0, 3>(tl::cumprod<0>(a))); });
  check([](auto a) { return tl::sum(tl::slice<0, 0, 3>(tl::cummax<0>(a))); });
  check([](auto a) { return tl::sum(tl::slice<0, 0, 3>(tl::logcumsumexp<0>(a))); });
  check([](auto a) { return tl::sum(tl::slice<0, 0, 3>(tl::linear_scan<0>(a, a))); });
}
TEST_CASE("linear_scan: what stands before the first element is not read, and moving averages are one") {
  constexpr auto f = [](auto a, auto b) { return tl::linear_scan<0>(a, b); };
  using X = tl::tensor<double, 3>;
  auto run = tl::jit(f).bind<X, X>();
  tl::owned<X> a, b;
  for (int i = 0; i < 3; ++i) (*a)[i] = i == 0 ? not_a_number : 0.5, (*b)[i] = i + 1;
  const auto y = run(*a, *b);
  CHECK((y[0] == 1 && y[1] == 2.5 && y[2] == 4.25));
  CHECK(same(at([](auto x) { return tl::linear_scan<0>(0.75, 0.25 * x); }, {4, 4, 8}), {1, 1.75, 3.3125}));
}
