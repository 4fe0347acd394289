// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Arrangements (ops/arrange.hpp) and what depends on where an element stands (ops/grid.hpp).
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/arrange.hpp>
#include <reference/reduce.hpp>
#include <reference/shape.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;
const std::vector<domain> anywhere{{-1, 1, true}, {-1, 1, true}};
template <class X> using value_of = typename std::remove_cvref_t<X>::value_type;

// The squares make the second derivative other than 0.
template <class T> using block = arguments<tl::tensor<T, 2, 3, 5>>;
constexpr auto moves = cases<block<double>>(
    pair(
        "expand_dims<1>", [](const auto& x) { return tl::square(tl::expand_dims<1>(x)); },
        [](const auto& x) { return ref::square(ref::array<value_of<decltype(x)>>({2, 1, 3, 5}, x.data)); },
        rounds_once),
    pair(
        "expand_dims<-1>", [](const auto& x) { return tl::square(tl::expand_dims<-1>(x)); },
        [](const auto& x) { return ref::square(ref::array<value_of<decltype(x)>>({2, 3, 5, 1}, x.data)); },
        rounds_once),
    pair(
        "squeeze<1>", [](const auto& x) { return tl::square(tl::squeeze<1>(tl::expand_dims<1>(x))); },
        [](const auto& x) { return ref::square(x); }, rounds_once),
    pair(
        "tile<1, 3>", [](const auto& x) { return tl::square(tl::tile<1, 3>(x)); },
        [](const auto& x) { return ref::square(ref::along(x, 1, 9, [](std::int64_t i) { return i % 3; })); },
        rounds_once),
    pair(
        "repeat<-1, 2>", [](const auto& x) { return tl::square(tl::repeat<-1, 2>(x)); },
        [](const auto& x) { return ref::square(ref::along(x, 2, 10, [](std::int64_t i) { return i / 2; })); },
        rounds_once),
    pair(
        "roll<2, 2>", [](const auto& x) { return tl::square(tl::roll<2, 2>(x)); },
        [](const auto& x) { return ref::square(ref::roll(x, 2, 2)); }, rounds_once),
    pair(
        "roll<1, -4>", [](const auto& x) { return tl::square(tl::roll<1, -4>(x)); },
        [](const auto& x) { return ref::square(ref::roll(x, 1, -4)); }, rounds_once),
    pair(
        "slice<2, 0, 5, 2>", [](const auto& x) { return tl::square(tl::slice<2, 0, 5, 2>(x)); },
        [](const auto& x) { return ref::square(ref::along(x, 2, 3, [](std::int64_t i) { return 2 * i; })); },
        rounds_once),
    pair(
        "slice<2, 1, 5, 2>", [](const auto& x) { return tl::square(tl::slice<2, 1, 5, 2>(x)); },
        [](const auto& x) {
          return ref::square(ref::along(x, 2, 2, [](std::int64_t i) { return 1 + 2 * i; }));
        },
        rounds_once),
    pair(
        "slice<2, 1, 4, 3>", [](const auto& x) { return tl::square(tl::slice<2, 1, 4, 3>(x)); },
        [](const auto& x) { return ref::square(ref::along(x, 2, 1, [](std::int64_t) { return 1; })); },
        rounds_once),
    pair(
        "slice<2, 4, -1, -1>", [](const auto& x) { return tl::square(tl::slice<2, 4, -1, -1>(x)); },
        [](const auto& x) { return ref::square(ref::along(x, 2, 5, [](std::int64_t i) { return 4 - i; })); },
        rounds_once),
    pair(
        "slice<2, 3, 0, -2>", [](const auto& x) { return tl::square(tl::slice<2, 3, 0, -2>(x)); },
        [](const auto& x) {
          return ref::square(ref::along(x, 2, 2, [](std::int64_t i) { return 3 - 2 * i; }));
        },
        rounds_once),
    pair(
        "slice<1, 2, 2, 3>", [](const auto& x) { return tl::square(tl::slice<1, 2, 2, 3>(x)); },
        [](const auto& x) { return ref::square(ref::along(x, 1, 0, [](std::int64_t i) { return i; })); },
        rounds_once),
    pair(
        "pad<2, 2, 3>, reflect", [](const auto& x) { return tl::square(tl::pad<2, 2, 3>(x, tl::reflect)); },
        [](const auto& x) {
          return ref::square(
              ref::along(x, 2, 10, [](std::int64_t i) { return 4 - std::abs(4 - std::abs(i - 2)); }));
        },
        rounds_once),
    pair(
        "pad<2, 1, 2>, fill",
        [](const auto& x) { return tl::square(tl::pad<2, 1, 2>(x, tl::fill_value(2.5))); },
        [](const auto& x) {
          using T = typename std::remove_cvref_t<decltype(x)>::value_type;
          return ref::square(ref::pad(x, 2, 1, 2, T(2.5)));
        },
        rounds_once),
    pair(
        "pad<1, 2, 1>, edge", [](const auto& x) { return tl::square(tl::pad<1, 2, 1>(x, tl::edge)); },
        [](const auto& x) {
          return ref::square(
              ref::along(x, 1, 6, [](std::int64_t i) { return std::clamp<std::int64_t>(i - 2, 0, 2); }));
        },
        rounds_once),
    pair(
        "pad<1, 3, 2>, wrap_around",
        [](const auto& x) { return tl::square(tl::pad<1, 3, 2>(x, tl::wrap_around)); },
        [](const auto& x) { return ref::square(ref::along(x, 1, 8, [](std::int64_t i) { return i % 3; })); },
        rounds_once),
    pair(
        "pad<0, 0, 1>, reflect", [](const auto& x) { return tl::square(tl::pad<0, 0, 1>(x, tl::reflect)); },
        [](const auto& x) {
          return ref::square(ref::along(x, 0, 3, [](std::int64_t i) { return i == 2 ? 0 : i; }));
        },
        rounds_once),
    pair(
        "tril", [](const auto& x) { return tl::square(tl::tril(x)); },
        [](const auto& x) {
          return ref::square(ref::triangle(x, [](auto d) { return d <= decltype(d)(0); }));
        },
        rounds_once),
    pair(
        "tril<1>", [](const auto& x) { return tl::square(tl::tril<1>(x)); },
        [](const auto& x) {
          return ref::square(ref::triangle(x, [](auto d) { return d <= decltype(d)(1); }));
        },
        rounds_once),
    pair(
        "triu", [](const auto& x) { return tl::square(tl::triu(x)); },
        [](const auto& x) {
          return ref::square(ref::triangle(x, [](auto d) { return d >= decltype(d)(0); }));
        },
        rounds_once),
    pair(
        "triu<-1>", [](const auto& x) { return tl::square(tl::triu<-1>(x)); },
        [](const auto& x) {
          return ref::square(ref::triangle(x, [](auto d) { return d >= decltype(d)(-1); }));
        },
        rounds_once));
constexpr auto diagonals = cases<block<double>>(
    pair(
        "diagonal", [](const auto& x) { return tl::square(tl::diagonal(x)); },
        [](const auto& x) { return ref::square(ref::diagonal(x, 0)); }, 16),
    pair(
        "diagonal<2>", [](const auto& x) { return tl::square(tl::diagonal<2>(x)); },
        [](const auto& x) { return ref::square(ref::diagonal(x, 2)); }, 16),
    pair(
        "diagonal<-1>", [](const auto& x) { return tl::square(tl::diagonal<-1>(x)); },
        [](const auto& x) { return ref::square(ref::diagonal(x, -1)); }, 16),
    pair(
        "diagonal<3>", [](const auto& x) { return tl::square(tl::diagonal<3>(x)); },
        [](const auto& x) { return ref::square(ref::diagonal(x, 3)); }, 16),
    pair(
        "trace", [](const auto& x) { return tl::square(tl::trace(x)); },
        [](const auto& x) { return ref::square(ref::sum(ref::diagonal(x, 0), {-1})); }, 16));

// a: (n, 2), b: (n, 2)
template <class T> using two = arguments<tl::tensor<T, n, 2>, tl::tensor<T, n, 2>>;
constexpr auto named = cases<two<double>>(
    pair(
        "stack<1>", [](const auto& a, const auto& b) { return tl::square(tl::stack<1>(a, b)); },
        [](const auto& a, const auto& b) {
          return ref::square(ref::picked(
              ref::concat(std::vector{a, b}, 1), {a.shape[0], 2, 2},
              [](const ref::dims& i) { return std::optional(ref::dims{i[0], 2 * i[1] + i[2]}); }));
        },
        rounds_once),
    pair(
        "split<1, 2>",
        [](const auto& a, const auto& b) {
          const auto [left, right] = tl::split<1, 2>(a);
          return left * right + tl::square(b);
        },
        [](const auto& a, const auto& b) {
          return ref::slice(a, 1, 0, 1) * ref::slice(a, 1, 1, 2) + ref::square(b);
        },
        2),
    pair(
        "tile<0, 2>, repeat<0, 2>",
        [](const auto& a, const auto& b) { return tl::tile<0, 2>(a) * tl::repeat<0, 2>(b); },
        [](const auto& a, const auto& b) {
          const std::int64_t rows = a.shape[0];
          return ref::along(a, 0, 2 * rows, [=](std::int64_t i) { return i % rows; }) *
                 ref::along(b, 0, 2 * rows, [](std::int64_t i) { return i / 2; });
        },
        rounds_once),
    pair(
        "outer, meshgrid",
        [](const auto& a, const auto& b) {
          const auto u = tl::at<1>(a, 0), v = tl::at<1>(b, 1);
          const auto [rows, columns] = tl::meshgrid(u, v);
          return tl::outer(u, v) * rows + columns;
        },
        [](const auto& a, const auto& b) {
          const std::int64_t rows = a.shape[0];
          const auto u = ref::picked(a, {rows, rows},
                                     [](const ref::dims& i) { return std::optional(ref::dims{i[0], 0}); });
          const auto v = ref::picked(b, {rows, rows},
                                     [](const ref::dims& i) { return std::optional(ref::dims{i[1], 1}); });
          return u * v * u + v;
        },
        4),
    pair(
        "diagonal of (n, n)",
        [](const auto& a, const auto& b) { return tl::diagonal(tl::matmul(a, tl::transpose(b))); },
        [](const auto& a, const auto& b) {
          using T = value_of<decltype(a)>;
          ref::array<T> p({a.shape[0], a.shape[0]});
          ref::for_each_index(p.shape, [&](const ref::dims& i) {
            for (std::int64_t k = 0; k < 2; ++k)
              p.at(i) = p.at(i) + a.at(ref::dims{i[0], k}) * b.at(ref::dims{i[1], k});
          });
          return ref::diagonal(p, 0);
        },
        16));

} // namespace

TEST_CASE("arrangements: the laws hold") { check_laws(moves, {1}, anywhere); }
TEST_CASE("arrangements: float equals the reference") {
  check_values(with<block<float>>(moves), {1}, anywhere);
}
TEST_CASE("diagonals: the laws hold") { check_laws(diagonals, {1}, anywhere); }
TEST_CASE("diagonals: float equals the reference") {
  check_values(with<block<float>>(diagonals), {1}, anywhere);
}
TEST_CASE("arrangements: the laws hold of named extents") { check_laws(named, {1, 2, 7}, anywhere); }
TEST_CASE("arrangements of integers; one_hot; eye_like") {
  using X = tl::tensor<std::int32_t, 2, 3>;
  using L = tl::tensor<std::int32_t, 4>;
  std::int32_t data[] = {1, 2, 3, 4, 5, 6}, label[] = {2, 0, -1, 3};
  constexpr auto f = [](auto x, auto l) {
    return std::tuple{tl::roll<1, 1>(x),        tl::tril(x),
                      tl::one_hot<float, 3>(l), tl::one_hot<std::int32_t, 3>(l),
                      tl::eye_like(x),          tl::eye_like(tl::cast<double>(x))};
  };
  auto run = tl::jit(f).bind<X, L>();
  const auto [rolled, lower, hot, hot_number, one, one_double] = run(X(data), L(label));
  const int rolls[] = {3, 1, 2, 6, 4, 5}, lowers[] = {1, 0, 0, 4, 5, 0}, ones[] = {1, 0, 0, 0, 1, 0},
            hots[] = {0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  for (int i = 0; i < 6; ++i) {
    CHECK(rolled[i] == rolls[i]);
    CHECK(lower[i] == lowers[i]);
    CHECK(one[i] == ones[i]);
    CHECK(one_double[i] == ones[i]);
  }
  for (int i = 0; i < 12; ++i) {
    CHECK(hot[i] == static_cast<float>(hots[i]));
    CHECK(hot_number[i] == hots[i]);
  }
}
TEST_CASE(
    "pad with a number: infinite, of integers, along a negative axis, of an empty axis, without a border, of a var") {
  using X = tl::tensor<double, 1, 2>;
  using I = tl::tensor<std::int32_t, 2>;
  using E = tl::tensor<double, 1, 0>;
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr auto f = [](auto x, auto i, auto e) {
    const tl::var h = x;
    return std::tuple{tl::pad<-1, 1, 1>(x, tl::fill_value(-std::numeric_limits<double>::infinity())),
                      tl::pad<0, 0, 2>(i, tl::fill_value(7)), tl::pad<1, 1, 1>(e, tl::fill_value(2.5)),
                      tl::pad<1, 0, 0>(x, tl::fill_value(2.5)),
                      tl::pad<1, 2, 0>(h, tl::fill_value(2.5)).template as<double, 1, 4>()};
  };
  double x[] = {3, -4};
  std::int32_t i[] = {5, 6};
  auto run = tl::jit(f).bind<X, I, E>();
  const auto [infinite, integers, empty, none, untyped] = run(X(x), I(i), E(std::span<double>()));
  const double infinites[] = {-inf, 3, -4, -inf}, untypeds[] = {2.5, 2.5, 3, -4};
  const int sevens[] = {5, 6, 7, 7};
  CHECK(std::ranges::equal(infinite, infinites));
  CHECK(std::ranges::equal(integers, sevens));
  CHECK(std::ranges::equal(empty, std::array{2.5, 2.5}));
  CHECK(std::ranges::equal(none, x));
  CHECK(std::ranges::equal(untyped, untypeds));

  constexpr auto largest = [](auto v) {
    return tl::sum(tl::square(
        tl::max<1>(tl::pad<1, 1, 1>(v, tl::fill_value(-std::numeric_limits<double>::infinity())))));
  };
  auto derive = tl::jit(tl::grad(largest)).bind<X>();
  CHECK(std::ranges::equal(derive(X(x)), std::array{6.0, 0.0}));
}
TEST_CASE("arrangements of a var are those of its type") {
  constexpr auto typed = [](auto x) {
    return std::tuple{tl::expand_dims<0>(x),
                      tl::tile<1, 2>(x),
                      tl::roll<0, 1>(x),
                      tl::slice<1, 2, -1, -2>(x),
                      tl::pad<1, 1, 1>(x, tl::reflect),
                      tl::triu(x),
                      tl::diagonal(x),
                      tl::split<1, 3>(x)[1],
                      tl::eye_like(x)};
  };
  constexpr auto untyped = [](auto x) {
    const tl::var v = x;
    const auto a = tl::squeeze<0>(tl::expand_dims<0>(v));
    return std::tuple{tl::expand_dims<0>(v).template as<float, 1, 2, 3>(),
                      tl::tile<1, 2>(v).template as<float, 2, 6>(),
                      tl::roll<0, 1>(a).template as<float, 2, 3>(),
                      tl::slice<1, 2, -1, -2>(v).template as<float, 2, 2>(),
                      tl::pad<1, 1, 1>(v, tl::reflect).template as<float, 2, 5>(),
                      tl::triu(v).template as<float, 2, 3>(),
                      tl::diagonal(v).template as<float, 2>(),
                      tl::split<1, 3>(v)[1].template as<float, 2, 1>(),
                      tl::eye_like(v).template as<float, 2, 3>()};
  };
  using X = tl::tensor<float, 2, 3>;
  float data[] = {1, 2, 3, 4, 5, 6};
  auto one = tl::jit(typed).bind<X>();
  auto other = tl::jit(untyped).bind<X>();
  const auto a = one(X(data)), b = other(X(data));
  const auto same = [](const auto& p, const auto& q) {
    return std::equal(p.begin(), p.end(), q.begin(), q.end());
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    CHECK((same(std::get<I>(a), std::get<I>(b)) && ...));
  }(std::make_index_sequence<std::tuple_size_v<decltype(a)>>{});
}
