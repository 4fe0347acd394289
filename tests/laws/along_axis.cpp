// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/along_axis.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <vector>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;

// x: (3, 4, 5)   d: (3, 6, 5)   i: (3, 6, 5) below 4   j: (1, 2, 1) below 4   k: (3, 4, 7) below 5
using index_constants = constants<tl::tensor<std::int32_t, 3, 6, 5>, tl::tensor<std::int32_t, 1, 2, 1>,
                                  tl::tensor<std::int32_t, 3, 4, 7>>;
template <class T> using two = arguments<tl::tensor<T, 3, 4, 5>, tl::tensor<T, 3, 6, 5>>;
template <class Op, class Ref> constexpr auto moved(const char* name, Op op, Ref r,
                                                    double roundings = exact) {
  return pair(name, op, r, roundings, scale::terms);
}
constexpr auto fixed = cases<two<double>, index_constants>(
    moved(
        "take_along_axis<1>",
        [](const auto& x, const auto&, const auto& i, const auto&, const auto&) {
          return tl::take_along_axis<1>(x, i);
        },
        [](const auto& x, const auto&, const auto& i, const auto&, const auto&) {
          return ref::take_along(x, i, 1);
        }),
    moved(
        "take_along_axis<1>, one index for all lines",
        [](const auto& x, const auto&, const auto&, const auto& j, const auto&) {
          return tl::take_along_axis<-2>(tl::square(x), j);
        },
        [](const auto& x, const auto&, const auto&, const auto& j, const auto&) {
          return ref::take_along(ref::square(x), j, 1);
        },
        rounds_once),
    moved(
        "take_along_axis<-1>",
        [](const auto& x, const auto&, const auto&, const auto&, const auto& k) {
          return tl::take_along_axis<-1>(x, k);
        },
        [](const auto& x, const auto&, const auto&, const auto&, const auto& k) {
          return ref::take_along(x, k, 2);
        }),
    moved(
        "scatter_add_along_axis<1>",
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return tl::scatter_add_along_axis<1>(x, i, tl::square(d));
        },
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return ref::add_along(x, i, ref::square(d), 1);
        },
        8),
    moved(
        "scatter_add_along_axis<1> of what is repeated",
        [](const auto& x, const auto& d, const auto&, const auto& j, const auto&) {
          return tl::scatter_add_along_axis<1>(x, j, tl::slice<1, 0, 1>(d));
        },
        [](const auto& x, const auto& d, const auto&, const auto& j, const auto&) {
          ref::array<typename std::remove_cvref_t<decltype(d)>::value_type> first({3, 1, 5});
          ref::for_each_index(first.shape, [&](const ref::dims& at) { first.at(at) = d.at(at); });
          return ref::add_along(x, j, first, 1);
        },
        8),
    moved(
        "scatter_max_along_axis<1>",
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return tl::scatter_max_along_axis<1>(x, i, d);
        },
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return ref::max_along(x, i, d, 1);
        }),
    moved(
        "scatter_min_along_axis<1>",
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return tl::scatter_min_along_axis<1>(x, i, d);
        },
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return ref::min_along(x, i, d, 1);
        }));
constexpr auto fill = [](const auto& c, std::int64_t) {
  const auto put = [](const auto& to, int below) {
    for (std::int64_t a = 0; a < to.size(); ++a) to[a] = static_cast<std::int32_t>((a * 7 + 3) % 11 % below);
  };
  put(std::get<0>(c), 4);
  put(std::get<1>(c), 4);
  put(std::get<2>(c), 5);
};
// n rows, and indices along both axes
using named_constants = constants<tl::tensor<std::int32_t, n, 2>, tl::tensor<std::int32_t, 7, 3>>;
template <class T> using named_arguments = arguments<tl::tensor<T, n, 3>, tl::tensor<T, 7, 3>>;
constexpr auto named = cases<named_arguments<double>, named_constants>(moved(
    "take_along_axis<1> of n rows",
    [](const auto& x, const auto&, const auto& i, const auto&) {
      return tl::take_along_axis<1>(x, i) + tl::sum(x);
    },
    [](const auto& x, const auto&, const auto& i, const auto&) {
      return ref::take_along(x, i, 1, ref::index_of::named) + ref::sum(x);
    },
    16));
constexpr auto fill_named = [](const auto& c, std::int64_t) {
  for (std::int64_t k = 0; k < std::get<0>(c).size(); ++k)
    std::get<0>(c)[k] = static_cast<std::int32_t>((k * 5 + 3) % 3);
  for (std::int64_t k = 0; k < std::get<1>(c).size(); ++k) std::get<1>(c)[k] = 0;
};

static_assert(counts(tl::detail::along_axis_rules, fixed));
const std::vector<domain> distinct{{-1, 1, true}, {-1, 1, true}};

} // namespace

TEST_CASE("along an axis: the laws hold") { check_laws(fixed, no_names, distinct, fill); }
TEST_CASE("along an axis: the laws hold for a named extent") {
  check_laws(named, {0, 1, 2, 7, 17}, distinct, fill_named);
}
TEST_CASE("along an axis: float equals the reference") {
  check_values(with<two<float>, index_constants>(fixed), no_names, distinct, fill);
}

TEST_CASE("along an axis: an index of an argument is checked, a computed one is clamped") {
  using X = tl::tensor<float, 2, 3>;
  using I = tl::tensor<std::int32_t, 2, 2>;
  tl::owned<X> x;
  tl::owned<I> i;
  for (int k = 0; k < 6; ++k) (*x)[k] = static_cast<float>(k);
  for (int k = 0; k < 4; ++k) (*i)[k] = k - 1;
  auto checked = tl::jit([](auto a, auto at) { return tl::take_along_axis<1>(a, at); }).bind<X, I>();
  CHECK_THROWS_AS(checked(*x, *i), tl::argument_error);
  auto clamped = tl::jit([](auto a, auto at) { return tl::take_along_axis<1>(a, at * 2); }).bind<X, I>();
  const auto y = clamped(*x, *i); // -2 0 2 4: 0 0 2 2
  CHECK((y[0] == 0 && y[1] == 0 && y[2] == 5 && y[3] == 5));
}
TEST_CASE(
    "scatter_max, scatter_min: a NaN wins; at a tie a gets the cotangent, then the first of d; int32 and nothing at all") {
  using X = tl::tensor<double, 3>;
  using I = tl::tensor<std::int32_t, 4>;
  using D = tl::tensor<double, 4>;
  tl::owned<X> x;
  tl::owned<I> i;
  tl::owned<D> d;
  const auto set = [](const auto& to, std::initializer_list<double> from) {
    std::int64_t k = 0;
    for (const double e : from) to[k++] = static_cast<std::remove_cvref_t<decltype(to[0])>>(e);
  };
  set(*x, {1, 2, 3});
  set(*i, {0, 0, 1, 2});
  set(*d, {4, 4, 2, std::numeric_limits<double>::quiet_NaN()});
  constexpr auto f = [](auto a, auto at, auto e) { return tl::scatter_max_along_axis<0>(a, at, e); };
  constexpr auto g = [](auto a, auto at, auto e) { return tl::scatter_min_along_axis<0>(a, at, e); };
  auto largest = tl::jit(f).bind<X, I, D>();
  auto least = tl::jit(g).bind<X, I, D>();
  {
    const auto y = largest(*x, *i, *d);
    CHECK((y[0] == 4 && y[1] == 2 && y[2] != y[2]));
    const auto z = least(*x, *i, *d);
    CHECK((z[0] == 1 && z[1] == 2 && z[2] != z[2]));
  }
  auto slope = tl::jit(tl::grad<0, 2>([](auto a, auto at, auto e) {
                 return tl::sum(tl::scatter_max_along_axis<0>(a, at, e));
               })).bind<X, I, D>();
  const auto [dx, dd] = slope(*x, *i, *d);
  CHECK((dx[0] == 0 && dx[1] == 1 && dx[2] == 0));
  CHECK((dd[0] == 1 && dd[1] == 0 && dd[2] == 0 && dd[3] == 1));

  using N = tl::tensor<std::int32_t, 3>;
  using M = tl::tensor<std::int32_t, 4>;
  auto ints =
      tl::jit([](auto a, auto at, auto e) {
        return std::tuple{tl::scatter_max_along_axis<0>(a, at, e), tl::scatter_add_along_axis<0>(a, at, e)};
      }).bind<N, I, M>();
  tl::owned<N> xi;
  tl::owned<M> di;
  set(*xi, {1, 2, 3});
  set(*di, {4, -4, 7, 1});
  const auto [m, s] = ints(*xi, *i, *di);
  CHECK((m[0] == 4 && m[1] == 7 && m[2] == 3));
  CHECK((s[0] == 1 && s[1] == 9 && s[2] == 4));
  constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min(),
                         most = std::numeric_limits<std::int32_t>::max();
  auto least_int = tl::jit(g).bind<N, I, M>();
  for (int k = 0; k < 4; ++k) (*di)[k] = k == 2 ? lowest : most;
  const auto low = least_int(*xi, *i, *di);
  CHECK((low[0] == 1 && low[1] == lowest && low[2] == 3));

  auto none = tl::jit(f).bind<X, tl::tensor<std::int32_t, 0>, tl::tensor<double, 0>>();
  tl::owned<tl::tensor<std::int32_t, 0>> no_index;
  tl::owned<tl::tensor<double, 0>> no_value;
  CHECK(none(*x, *no_index, *no_value)[2] == 3);
}
TEST_CASE("along an axis: many indices into one place, which a device sorts") {
  using X = tl::tensor<float, 5>;
  using D = tl::tensor<float, 3000>;
  using I = tl::tensor<std::int32_t, 3000>;
  tl::owned<X> x;
  tl::owned<I> i;
  tl::owned<D> d;
  std::vector<double> sums(5, 0.5), most(5, 0.5);
  for (int k = 0; k < 5; ++k) (*x)[k] = 0.5f;
  for (int k = 0; k < 3000; ++k) {
    (*i)[k] = k * 7 % 4;
    (*d)[k] = static_cast<float>(k * 37 % 1009) / 1009;
    const auto to = static_cast<std::size_t>((*i)[k]);
    sums[to] += (*d)[k];
    most[to] = std::max(most[to], static_cast<double>((*d)[k]));
  }
  auto run =
      tl::jit([](auto a, auto at, auto e) {
        return std::tuple{tl::scatter_add_along_axis<0>(a, at, e), tl::scatter_max_along_axis<0>(a, at, e)};
      }).bind<X, I, D>();
  const auto [s, m] = run(*x, *i, *d);
  for (int k = 0; k < 5; ++k) {
    CHECK(s[k] == doctest::Approx(sums[static_cast<std::size_t>(k)]).epsilon(1e-6));
    CHECK(m[k] == static_cast<float>(most[static_cast<std::size_t>(k)]));
  }
}

TEST_CASE("along an axis: of an empty named axis a computed index reads 0 and changes nothing") {
  using X = tl::tensor<float, tl::dyn<'n'>>;
  using I = tl::tensor<std::int32_t, 3>;
  using D = tl::tensor<float, 3>;
  auto run =
      tl::jit([](auto a, auto at, auto d) {
        return std::tuple{tl::take_along_axis<0>(a, at + 1), tl::scatter_max_along_axis<0>(a, at + 1, d)};
      }).bind<X, I, D>(tl::dim<'n'>{4});
  tl::owned<X> none(tl::dim<'n'>{0});
  tl::owned<I> at;
  tl::owned<D> d;
  const auto [taken, put] = run(*none, *at, *d);
  CHECK((taken[0] == 0 && taken[2] == 0 && put.size() == 0));
}
