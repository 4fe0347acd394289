// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What the rules of a custom op may return.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

namespace tl = tapeless;

namespace {

using V = tl::tensor<double, 3>;

struct twice { // one operand, and still a tuple
  template <class T> static T primal(T a) { return 2 * a; }
  static constexpr auto vjp(auto, auto, auto y_bar) { return std::tuple{2.0 * y_bar}; }
};
// y = a b, whose second operand is held constant
struct scaled {
  template <class T> static T primal(T a, T b) { return a * b; }
  static constexpr auto vjp(auto, auto b, auto, auto y_bar) { return std::tuple{y_bar * b, 0.0 * y_bar}; }
  static constexpr auto jvp(auto, auto b, auto, auto a_dot, auto) { return a_dot * b; }
};
// y = a + row: its tangent does not always have the extents of y
struct shifted {
  template <class T> static T primal(T a, T row) { return a + row; }
  static constexpr auto vjp(auto, auto, auto, auto y_bar) { return std::tuple{y_bar, 0.0 * y_bar}; }
  static constexpr auto jvp(auto, auto, auto, auto a_dot, auto) { return a_dot; }
};
struct add3 {
  template <class T> static T primal(T a, T b, T c) { return a + b + c; }
  static constexpr auto vjp(auto, auto, auto, auto, auto y_bar) { return std::tuple{y_bar, y_bar, y_bar}; }
};

} // namespace

TEST_CASE("custom: the cotangent of one operand may stand in a tuple") {
  auto run = tl::jit(tl::grad([](auto x) { return tl::sum(tl::custom<twice>(x) * x); })).bind<V>();
  double x[] = {1, 2, 3};
  const auto d = run(V{x});
  for (int i = 0; i < 3; ++i) CHECK(d[i] == 4 * x[i]);
}

TEST_CASE("custom: a cotangent is summed over the axes that repeated its operand") {
  auto run = tl::jit([](auto a, auto b) {
               return tl::grad<0, 1>([](auto p, auto q) { return tl::sum(tl::custom<scaled>(p, q)); })(a, b);
             }).bind<double, V>();
  double b[] = {1, 2, 4};
  const auto [a_bar, b_bar] = run(3.0, V{b});
  CHECK(a_bar[0] == 7);
  for (int i = 0; i < 3; ++i) CHECK(b_bar[i] == 0);
}

TEST_CASE("custom: a tangent is repeated along the axes that its operand lacks") {
  auto run = tl::jit([](auto a, auto row, auto a_dot) {
               return tl::jvp<0>([row](auto p) { return tl::custom<shifted>(p, row); })(a, a_dot);
             }).bind<double, V, double>();
  double row[] = {1, 2, 4};
  const auto y_dot = run(3.0, V{row}, 5.0);
  for (int i = 0; i < 3; ++i) CHECK(y_dot[i] == 5);
}

TEST_CASE("custom: three vars broadcast together") {
  using M = tl::tensor<double, 2, 1>;
  auto run = tl::jit([](auto a, auto b, auto c) {
               const tl::var x = a, y = b, z = c;
               return tl::custom<add3>(x, y, z).template as<double, 2, 3>();
             }).bind<double, V, M>();
  double b[] = {1, 2, 3}, c[] = {10, 20};
  const auto y = run(100.0, V{b}, M{c});
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) CHECK(y(i, j) == 100 + b[j] + c[i]);
}
