// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Where derivatives and orders are a matter of convention: ties, zeros, NaN, empty axes.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

namespace tl = tapeless;

namespace {

constexpr double q_nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();
using V = tl::tensor<double, 5>;
using M = tl::tensor<double, 2, 4>;

// f on these elements; NaN compares equal to NaN
template <class... X, class F> auto run(F f, const std::vector<std::vector<double>>& data) {
  tl::owned<std::tuple<X...>> x;
  std::size_t k = 0;
  tl::detail::for_each_leaf(*x, [&](const auto& leaf) {
    for (std::int64_t i = 0; i < leaf.size(); ++i) leaf[i] = data[k][static_cast<std::size_t>(i)];
    ++k;
  });
  auto program = tl::jit(f).template bind<X...>();
  std::vector<std::vector<double>> r;
  const auto y = std::apply([&](const auto&... a) { return program(a...); }, *x);
  tl::detail::for_each_leaf(y, [&](const auto& leaf) { r.emplace_back(leaf.begin(), leaf.end()); });
  return r;
}
using rows = std::vector<std::vector<double>>;
bool same(const rows& a, const rows& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].size() != b[k].size()) return false;
    for (std::size_t i = 0; i < a[k].size(); ++i)
      if (a[k][i] != b[k][i] && !(std::isnan(a[k][i]) && std::isnan(b[k][i]))) return false;
  }
  return true;
}

} // namespace

TEST_CASE("relu'(0) = 0, and relu of a NaN is a NaN") {
  const auto r =
      run<V>([](auto x) { return std::tuple{relu(x), tl::grad([](auto a) { return sum(relu(a)); })(x)}; },
             {{-1, -0.0, 0, 2, q_nan}});
  CHECK(same(r, {{0, 0, 0, 2, q_nan}, {0, 0, 0, 1, 0}}));
}

TEST_CASE("max and min give a tie's cotangent to the first operand, and propagate a NaN of either") {
  const auto both = [](auto a, auto b) {
    return std::tuple{max(a, b), min(a, b),
                      tl::grad<0, 1>([](auto p, auto q) { return sum(max(p, q)); })(a, b),
                      tl::grad<0, 1>([](auto p, auto q) { return sum(min(p, q)); })(a, b)};
  };
  const auto r = run<tl::tensor<double, 4>, tl::tensor<double, 4>>(both, {{1, 2, 3, inf}, {1, 3, 2, inf}});
  CHECK(same(r, {{1, 3, 3, inf}, {1, 2, 2, inf}, {1, 0, 1, 1}, {0, 1, 0, 0}, {1, 1, 0, 1}, {0, 0, 1, 0}}));
  const auto n = run<tl::tensor<double, 4>, tl::tensor<double, 4>>(
      [](auto a, auto b) { return std::tuple{max(a, b), min(a, b)}; },
      {{q_nan, 1, q_nan, inf}, {1, q_nan, inf, q_nan}});
  CHECK(same(n, {{q_nan, q_nan, q_nan, q_nan}, {q_nan, q_nan, q_nan, q_nan}}));
}

TEST_CASE("max along an axis gives the cotangent of a tie to the first maximum, and a NaN is the maximum") {
  const auto f = [](auto x) {
    return std::tuple{tl::max<1>(x), tl::grad([](auto a) { return sum(tl::max<1>(a)); })(x), tl::max(x),
                      tl::grad([](auto a) { return tl::max(a); })(x)};
  };
  CHECK(same(run<M>(f, {{1, 3, 3, 2, 3, 0, 3, 1}}),
             {{3, 3}, {0, 1, 0, 0, 1, 0, 0, 0}, {3}, {0, 1, 0, 0, 0, 0, 0, 0}}));
  CHECK(same(run<M>(f, {{1, q_nan, inf, q_nan, -inf, -inf, -inf, -inf}}),
             {{q_nan, -inf}, {0, 1, 0, 0, 1, 0, 0, 0}, {q_nan}, {0, 1, 0, 0, 0, 0, 0, 0}}));
}

TEST_CASE("argmax is the first maximum, or the first NaN, in row-major order") {
  const auto f = [](auto x) { return std::tuple{tl::argmax<1>(x), tl::argmax<0>(x), tl::argmax(x)}; };
  CHECK(same(run<M>(f, {{1, 3, 3, 2, 4, 0, 4, q_nan}}), {{1, 3}, {1, 0, 1, 1}, {7}}));
  CHECK(same(run<M>(f, {{-inf, -inf, -inf, -inf, 4, q_nan, q_nan, 5}}), {{0, 1}, {1, 1, 1, 1}, {5}}));
}

TEST_CASE("where gives nothing to the branch that is not taken, not even a NaN") {
  // log of a negative number, and a division by zero, behind a selection
  static constexpr auto f = [](auto x) {
    return sum(where(x > 0.0, log(x), 0.0)) + sum(where(x == 0.0, 7.0, 1.0 / x));
  };
  const auto r = run<V>([](auto x) { return std::tuple{f(x), tl::grad(f)(x), tl::jvp(f)(x, x * 0.0 + 1.0)}; },
                        {{-1, 0, 1, 2, -4}});
  CHECK(r[0][0] == doctest::Approx(std::log(2) + 7 - 1 + 1 + 0.5 - 0.25));
  CHECK(same({r[1]}, {{-1, 0, 0, 0.5 - 0.25, -0.0625}}));
  CHECK(r[2][0] == doctest::Approx(-1 + 0 + 0 + 0.25 - 0.0625));
}

TEST_CASE("where gives nothing to a row that is not taken, whose sum it reads") {
  using A = tl::tensor<double, 3, 2>;
  static constexpr auto by_sum = [](auto x) {
    return sum(where(tl::sum<1>(x) > 0.0, tl::sum<1>(log(x)), 0.0));
  };
  static constexpr auto by_mean = [](auto x) {
    return tl::mean(2.0 * where(tl::sum<1>(x) > 0.0, tl::mean<1>(log(x)) / 3.0, 0.0));
  };
  const auto r = run<A>([](auto x) { return std::tuple{tl::grad(by_sum)(x), tl::grad(by_mean)(x)}; },
                        {{-1, 0, 1, 2, 0, 0}});
  CHECK(same({r[0]}, {{0, 0, 1, 0.5, 0, 0}}));
  CHECK((r[1][0] == 0 && r[1][1] == 0 && r[1][4] == 0 && r[1][5] == 0));
  CHECK(r[1][3] == doctest::Approx(2.0 / 3 / 2 / 3 * 0.5));
}

TEST_CASE("where gives nothing to the channels of a pixel that is not taken") {
  using image = tl::tensor<double, 1, 2, 3>; // sample, channel, pixel
  static constexpr auto f = [](auto x) {
    const auto taken = tl::slice<1, 0, 1>(x) > 0.0;
    return sum(where(tl::reshape<1, 3>(taken), tl::sum<1>(log(x)), 0.0));
  };
  const auto r = run<image>([](auto x) { return tl::grad(f)(x); }, {{-1, 2, 0, 4, 5, -3}});
  CHECK(same({r[0]}, {{0, 0.5, 0, 0, 0.2, 0}}));
}

TEST_CASE("where gives nothing to a value that the branch not taken reads twice") {
  static constexpr auto f = [](auto x) {
    const auto r = sqrt(x);
    return sum(where(x > 0.0, r * exp(-r), 0.0)) - sum(where(x > 0.0, 2.0 * r - 1.0 / r, 0.0));
  };
  const auto r = run<V>([](auto x) { return tl::grad(f)(x); }, {{-1, 0, 1, 4, -4}});
  CHECK((r[0][0] == 0 && r[0][1] == 0 && r[0][4] == 0));
  CHECK(r[0][2] == doctest::Approx(-1 - 0.5));
  CHECK(r[0][3] == doctest::Approx(-std::exp(-2) / 4 - 0.5 - 0.0625));
}

TEST_CASE("where of two numbers has their type") {
  using X = tl::tensor<float, 3>;
  float x[] = {-1, 0.5f, 2};
  auto steps = tl::jit([](auto a) { return where(a > 1.0f, 3, where(a > 0.0f, 2, 0)); }).bind<X>();
  const auto step = steps(X(x));
  CHECK((step[0] == 0 && step[1] == 2 && step[2] == 3));
  CHECK(sizeof(step[0]) == sizeof(std::int32_t));
  auto run = tl::jit(tl::value_and_grad<0>([](auto a) {
               return sum(a * (where(a > 0.0f, 1.0f, 0.0f) + where(a > 1.0f, 0.0f, 1.0f)));
             })).bind<X>();
  const auto [value, gradient] = run(X(x));
  CHECK(value[0] == -1 + 2 * 0.5f + 2);
  CHECK((gradient[0] == 1 && gradient[1] == 2 && gradient[2] == 1));
}

TEST_CASE("where gives no NaN to the second derivative of the branch that is not taken") {
  static constexpr auto f = [](auto x) { return sum(where(x > 0.0, sqrt(x) * x, 0.0)); };
  const auto r = run<V>(
      [](auto x) {
        return std::tuple{tl::hvp<0>(f)(x, x * 0.0 + 1.0),
                          tl::grad([](auto a) { return sum(tl::grad(f)(a)); })(x)};
      },
      {{-1, 0, 1, 4, -4}});
  CHECK(same(r, {{0, 0, 0.75, 0.375, 0}, {0, 0, 0.75, 0.375, 0}}));
}

TEST_CASE("pow at zero: the limits of the formula") {
  const auto f = [](auto a, auto b) {
    return std::tuple{pow(a, b), tl::grad<0, 1>([](auto p, auto q) { return sum(pow(p, q)); })(a, b)};
  };
  // 0^0 = 1 with derivative 0 by both; 0^1, 0^2; 0^0.5 has an infinite slope; 1^3
  CHECK(same(run<V, V>(f, {{0, 0, 0, 0, 1}, {0, 1, 2, 0.5, 3}}),
             {{1, 0, 0, 0, 1}, {0, 1, 0, inf, 3}, {0, 0, 0, 0, 0}}));
  // a constant exponent: also for negative bases
  const auto g = [](auto a) {
    return std::tuple{pow(a, 3.0), tl::grad([](auto p) { return sum(pow(p, 3.0)); })(a),
                      tl::grad([](auto p) { return sum(pow(p, 0.0)); })(a)};
  };
  CHECK(same(run<V>(g, {{-2, -1, 0, 1, 2}}), {{-8, -1, 0, 1, 8}, {12, 3, 0, 3, 12}, {0, 0, 0, 0, 0}}));
}

TEST_CASE(
    "pow: second derivatives at the exponents 0 and 1 are those of the formula, where the base is not 0") {
  static constexpr auto f = [](auto p, auto q) { return sum(pow(p, q)); };
  const auto second = [](auto a, auto b) {
    const auto ones = a * 0.0 + 1.0;
    return std::tuple{tl::hvp<0>([b](auto p) { return f(p, b); })(a, ones),
                      tl::grad<1>([](auto p, auto q) { return sum(tl::grad<0>(f)(p, q)); })(a, b),
                      tl::grad<0>([](auto p, auto q) { return sum(tl::grad<1>(f)(p, q)); })(a, b),
                      tl::grad<1>([](auto p, auto q) { return sum(tl::grad<1>(f)(p, q)); })(a, b)};
  };
  const std::vector<double> base{2, 4, 0.5, 2, 0}, exponent{0, 0, 0, 1, 0};
  const auto r = run<V, V>(second, {base, exponent});
  for (std::size_t i = 0; i < 4; ++i) {
    const double a = base[i], b = exponent[i], l = std::log(a);
    CHECK(r[0][i] == 0); // b (b - 1) a^(b - 2)
    CHECK(r[1][i] == doctest::Approx(std::pow(a, b - 1) * (1 + b * l)));
    CHECK(r[2][i] == doctest::Approx(std::pow(a, b - 1) * (1 + b * l)));
    CHECK(r[3][i] == doctest::Approx(std::pow(a, b) * l * l));
  }
  for (const auto& d : r) CHECK(d[4] == 0); // 0^0: a convention, and no NaN
}

TEST_CASE("sqrt'(0) is infinite, and a division by zero is as in IEEE") {
  const auto r = run<tl::tensor<double, 2>>(
      [](auto x) { return std::tuple{tl::grad([](auto a) { return sum(sqrt(a)); })(x), 1.0 / x, -1.0 / x}; },
      {{0, 4}});
  CHECK(same(r, {{inf, 0.25}, {inf, 0.25}, {-inf, -0.25}}));
}

TEST_CASE("logsumexp and softmax do not overflow, and follow infinities") {
  const auto f = [](auto x) {
    return std::tuple{tl::logsumexp<1>(x), tl::softmax(x),
                      tl::grad([](auto a) { return sum(tl::logsumexp<1>(a)); })(x)};
  };
  const auto r = run<M>(f, {{1000, 1000, -1000, -inf, -1000, -1000, -1000, -1000}});
  CHECK(r[0][0] == doctest::Approx(1000 + std::log(2)));
  CHECK(r[0][1] == doctest::Approx(-1000 + std::log(4)));
  for (const std::size_t k : {1u, 2u}) CHECK(same({r[k]}, {{0.5, 0.5, 0, 0, 0.25, 0.25, 0.25, 0.25}}));
  CHECK(same({run<M>(f, {{-inf, -inf, -inf, -inf, inf, 0, 0, 0}})[0]}, {{-inf, inf}}));
}

TEST_CASE("max_pool2d gives a tie's cotangent to the first element of the window; a NaN is the maximum") {
  using I = tl::tensor<double, 1, 1, 2, 4>;
  const auto f = [](auto x) {
    return std::tuple{tl::max_pool2d<tl::pool{.kernel = 2}>(x),
                      tl::grad([](auto a) { return sum(tl::max_pool2d<tl::pool{.kernel = 2}>(a)); })(x)};
  };
  CHECK(same(run<I>(f, {{1, 1, 0, q_nan, 1, 1, q_nan, 5}}), {{1, q_nan}, {1, 0, 0, 1, 0, 0, 0, 0}}));
}

TEST_CASE("the sum of nothing is 0, its mean is NaN, its maximum an exception") {
  using X = tl::tensor<double, tl::dyn<'n'>, 2>;
  tl::owned<X> none(tl::dim<'n'>(0)), two(tl::dim<'n'>(2));
  auto sums = tl::jit([](auto x) {
                return std::tuple{tl::sum<0>(x), tl::mean<0>(x), tl::sum(x), tl::sum<1>(x)};
              }).bind<X>(tl::dim<'n'>(4));
  const auto [s, m, all, each] = sums(*none);
  CHECK((s[0] == 0 && s[1] == 0 && std::isnan(m[0]) && std::isnan(m[1]) && all[0] == 0 && each.size() == 0));
  auto largest = tl::jit([](auto x) { return tl::max<0>(x); }).bind<X>(tl::dim<'n'>(4));
  auto place = tl::jit([](auto x) { return tl::argmax<0>(x); }).bind<X>(tl::dim<'n'>(4));
  CHECK_THROWS_AS(largest(*none), tl::argument_error);
  CHECK_THROWS_AS(place(*none), tl::argument_error);
  CHECK(largest(*two)[0] == 0);
}

TEST_CASE("the sum of nothing is 0 where what is repeated is infinite or NaN") {
  using X = tl::tensor<double, 3>;
  using N = tl::tensor<double, tl::dyn<'n'>>;
  tl::owned<X> x;
  (*x)[0] = 0, (*x)[1] = -1, (*x)[2] = 2;
  auto fixed = tl::jit([](auto a) {
                 const auto none = tl::broadcast_to<0, 3>(log(a));
                 return std::tuple{tl::sum(none), tl::sum<0>(none)};
               }).bind<X>();
  const auto [all, each] = fixed(*x);
  CHECK((all[0] == 0 && each[0] == 0 && each[1] == 0 && each[2] == 0));
  auto named =
      tl::jit([](auto a, auto n) {
        const auto repeated = tl::broadcast_to<tl::dyn<'n'>, 3>(log(a));
        // the gradient of b is the sum over n of 1 / n
        const auto g = tl::grad<1>([](auto m, auto b) { return tl::mean(m + b); })(n, tl::sum(a));
        return std::tuple{n + 1.0, tl::sum<0>(repeated), tl::sum(repeated), g, tl::grad([n](auto b) {
                            return tl::sum(n * 0.0 + tl::sum(tl::broadcast_to<tl::dyn<'n'>, 3>(log(b))));
                          })(a)};
      }).bind<X, N>(tl::dim<'n'>(4));
  {
    tl::owned<N> none(tl::dim<'n'>(0));
    const auto [rest, s, total, g, d] = named(*x, *none);
    for (int i = 0; i < 3; ++i) CHECK((s[i] == 0 && d[i] == 0));
    CHECK((rest.size() == 0 && total[0] == 0 && g[0] == 0));
  }
  tl::owned<N> four(tl::dim<'n'>(4));
  (*x)[0] = 3, (*x)[1] = 1;
  const auto [rest, s, total, g, d] = named(*x, *four);
  CHECK(rest.size() == 4);
  for (int i = 0; i < 3; ++i) {
    CHECK(s[i] == doctest::Approx(4 * std::log((*x)[i])));
    CHECK(d[i] == doctest::Approx(16 / (*x)[i]));
  }
  CHECK((total[0] == doctest::Approx(4 * std::log(6.0)) && g[0] == 1));
}

TEST_CASE("index arguments are checked, computed indices are clamped") {
  using X = tl::tensor<double, 3>;
  using I = tl::tensor<std::int32_t, 2>;
  tl::owned<X> x;
  tl::owned<I> i;
  for (int k = 0; k < 3; ++k) (*x)[k] = k;
  auto checked = tl::jit([](auto a, auto j) { return tl::gather(a, j); }).bind<X, I>();
  auto computed = tl::jit([](auto a, auto j) { return tl::gather(a, j + j); }).bind<X, I>();
  (*i)[0] = 2, (*i)[1] = 0;
  CHECK((checked(*x, *i)[0] == 2 && computed(*x, *i)[0] == 2));
  for (const int wrong : {-1, 3}) {
    (*i)[1] = wrong;
    CHECK_THROWS_AS(checked(*x, *i), tl::argument_error);
    CHECK(computed(*x, *i)[1] == (wrong < 0 ? 0 : 2));
  }
}
TEST_CASE(
    "max and min of two: a NaN of either one wins, in every lane; of two zeros the first; beside numbers, too") {
  using L = tl::tensor<float, 37>;
  constexpr auto f = [](auto x, auto y) {
    return std::tuple{tl::max(x, y), tl::min(x, y), tl::clamp(x, -0.5, 0.5), tl::max(x, 0.0),
                      tl::min(x, -0.0)};
  };
  auto program = tl::jit(f).bind<L, L>();
  const auto nan = static_cast<float>(q_nan), big = static_cast<float>(inf);
  const float values[] = {nan, -big, big, 0.0f, -0.0f, 1.0f, -1.0f};
  tl::owned<L> x, y;
  for (int shift = 0; shift < 7; ++shift) {
    for (std::int64_t i = 0; i < 37; ++i) (*x)[i] = values[i % 7], (*y)[i] = values[(i / 7 + shift) % 7];
    const auto out = program(*x, *y);
    const auto is = [](float a, float b) {
      return (a == b && std::signbit(a) == std::signbit(b)) || (a != a && b != b);
    };
    int wrong = 0;
    for (std::int64_t i = 0; i < 37; ++i) {
      const float a = (*x)[i], b = (*y)[i];
      wrong += is(std::get<0>(out)[i], a != a || b != b ? nan : a >= b ? a : b) ? 0 : 1;
      wrong += is(std::get<1>(out)[i], a != a || b != b ? nan : a <= b ? a : b) ? 0 : 1;
      wrong += is(std::get<2>(out)[i], a != a ? nan : a < -0.5f ? -0.5f : a > 0.5f ? 0.5f : a) ? 0 : 1;
      wrong += is(std::get<3>(out)[i], a != a ? nan : a >= 0.0f ? a : 0.0f) ? 0 : 1;
      wrong += is(std::get<4>(out)[i], a != a ? nan : a <= -0.0f ? a : -0.0f) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}
