// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A value that is passed twice, or that an inner function captured, is never taken for the variable of
// differentiation: each transform calls its function on fresh arguments.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <tuple>

namespace tl = tapeless;

namespace {

using V = tl::tensor<double, 3>;

// f(x) at x = (1, 2, 3), v = (0.5, -1, 2)
template <class F> auto at_1_2_3(F f) {
  static tl::owned<std::tuple<V, V>> data;
  const auto& [x, v] = *data;
  for (int i = 0; i < 3; ++i) x[i] = i + 1;
  v[0] = 0.5, v[1] = -1, v[2] = 2;
  static auto run = tl::jit(f).template bind<V, V>();
  return run(x, v);
}
#define TAPELESS_AT_1_2_3(...)  \
  at_1_2_3([](auto x, auto v) { \
    (void)x, (void)v;           \
    return __VA_ARGS__;         \
  })

constexpr auto dot = [](auto a, auto b) { return tl::sum(a * b); };

} // namespace

TEST_CASE("grad<0>(sum(a b))(x, x) is x, not 2 x") {
  CHECK(TAPELESS_AT_1_2_3(sum(tl::grad<0>(dot)(x, x)))[0] == 6);
  CHECK(TAPELESS_AT_1_2_3(sum(tl::grad<1>(dot)(x, x)))[0] == 6);
  const auto both = at_1_2_3([](auto x, auto) { return tl::grad<0, 1>(dot)(x, x); });
  for (int i = 0; i < 3; ++i) CHECK((std::get<0>(both)[i] == i + 1 && std::get<1>(both)[i] == i + 1));
}

TEST_CASE("grad of an inner function that captures x differentiates by the inner argument only") {
  CHECK(TAPELESS_AT_1_2_3(sum(tl::grad([&](auto y) { return sum(x * y); })(x)))[0] == 6);
  // d/dx of x d/dy(x y) at y = x: x^2, hence 2 x
  const auto g = at_1_2_3([](auto x, auto) {
    return tl::grad([](auto a) { return sum(a * tl::grad([&](auto y) { return sum(a * y); })(a)); })(x);
  });
  for (int i = 0; i < 3; ++i) CHECK(g[i] == 2 * (i + 1));
}

TEST_CASE("three levels keep their variables apart") {
  // d/dx x (d/dy y (d/dz x y z)) with z = y = x: inner x y, middle d/dy (x y^2) = 2 x y, outer d/dx (2 x^3) = 6 x^2
  const auto g = at_1_2_3([](auto x, auto) {
    return tl::grad([](auto a) {
      return sum(a * tl::grad([&](auto b) {
                   return sum(b * tl::grad([&](auto c) { return sum(a * b * c); })(b));
                 })(a));
    })(x);
  });
  for (int i = 0; i < 3; ++i) CHECK(g[i] == 6 * (i + 1) * (i + 1));
  const auto third = at_1_2_3([](auto x, auto) {
    return tl::grad([](auto a) {
      return sum(tl::grad(
          [](auto b) { return sum(tl::grad([](auto c) { return sum(square(square(c))); })(b)); })(a));
    })(x);
  });
  for (int i = 0; i < 3; ++i) CHECK(third[i] == 24 * (i + 1));
}

TEST_CASE("jvp of a function that captures its own argument and tangent") {
  // y -> x y along v, at y = x: x v, not 2 x v
  const auto y_dot = at_1_2_3([](auto x, auto v) { return tl::jvp([&](auto y) { return x * y; })(x, v); });
  const auto twice = at_1_2_3([](auto x, auto) { return tl::jvp([&](auto y) { return x * y; })(x, x); });
  const double v[] = {0.5, -1, 2};
  for (int i = 0; i < 3; ++i) CHECK((y_dot[i] == (i + 1) * v[i] && twice[i] == (i + 1) * (i + 1)));
}

TEST_CASE("jvp of vjp, vjp of jvp and vjp of vjp agree on the second derivative") {
  // f = x^3: J^T u = 3 x^2 u, and its derivative along v is 6 x u v; here u = x and is held constant
  static constexpr auto cube = [](auto a) { return a * a * a; };
  const auto [forward, reverse, twice] = at_1_2_3([](auto x, auto v) {
    const auto pull = [&](auto a) { return tl::vjp(cube)(a, x); };
    const auto push = [&](auto a) { return tl::jvp(cube)(a, v); };
    return std::tuple{tl::jvp(pull)(x, v), tl::vjp(push)(x, x), tl::vjp(pull)(x, v)};
  });
  const double v[] = {0.5, -1, 2};
  for (int i = 0; i < 3; ++i) {
    const double x = i + 1, expected = 6 * x * x * v[i];
    CHECK(forward[i] == doctest::Approx(expected));
    CHECK(reverse[i] == doctest::Approx(expected));
    CHECK(twice[i] == doctest::Approx(expected));
  }
}

TEST_CASE("a jvp inside a jvp keeps its tangent apart") {
  // d/dt of the inner derivative d/ds (x y) along v, taken along v again
  const auto y = at_1_2_3([](auto x, auto v) {
    return tl::jvp([&](auto a) { return a * tl::jvp([&](auto b) { return a * b; })(a, v); })(x, v);
  }); // a -> a (a v) = a^2 v, along v: 2 a v^2
  const double v[] = {0.5, -1, 2};
  for (int i = 0; i < 3; ++i) CHECK(y[i] == 2 * (i + 1) * v[i] * v[i]);
}

TEST_CASE("hvp and jvp take the same handle as point and direction") {
  static constexpr auto f = [](auto a) { return sum(a * a * a); };
  const auto [h, j] =
      at_1_2_3([](auto x, auto) { return std::tuple{tl::hvp<0>(f)(x, x), tl::jvp(f)(x, x)}; });
  for (int i = 0; i < 3; ++i) CHECK(h[i] == 6 * (i + 1) * (i + 1));
  CHECK(j[0] == 3 * (1 + 8 + 27));
}

TEST_CASE("a derivative by something the result does not depend on is zero") {
  const auto g =
      at_1_2_3([](auto x, auto v) { return tl::grad<1>([](auto a, auto) { return sum(a); })(x, v); });
  const auto y_dot = at_1_2_3([](auto x, auto v) { return tl::jvp<0>([&](auto) { return v * v; })(x, v); });
  for (int i = 0; i < 3; ++i) CHECK((g[i] == 0 && y_dot[i] == 0));
}

TEST_CASE("value_and_grad gives auxiliary values with the value") {
  const auto [value, g] = at_1_2_3([](auto x, auto) {
    return tl::value_and_grad(
        [](auto a) { return std::tuple{sum(square(a)), exp(a), std::array{a + 1.0, a}}; })(x);
  });
  CHECK(std::get<0>(value)[0] == 14);
  for (int i = 0; i < 3; ++i) {
    CHECK(std::get<1>(value)[i] == doctest::Approx(std::exp(i + 1.0)));
    CHECK((std::get<2>(value)[0][i] == i + 2 && std::get<2>(value)[1][i] == i + 1 && g[i] == 2 * (i + 1)));
  }
}
