// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstdio>
#include <limits>

namespace tl = tapeless;

// df/da and df/db at one point. A number that is not a tensor would be a constant, so a and b are arguments.
template <class F> void at(const char* text, double a, double b, F f) {
  auto run = tl::jit(tl::value_and_grad<0, 1>(f)).template bind<double, double>();
  const auto [y, a_bar, b_bar] = run(a, b);
  const auto number = [&](double x) {
    if (std::isnan(x)) std::printf("  %6s", "nan");
    else std::printf("  %6g", x + 0.0); // + 0.0: no negative zero
  };
  std::printf("%-26s", text);
  for (const double x : {a, b, y[0], a_bar[0], b_bar[0]}) number(x);
  std::printf("\n");
}

int main() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::printf("%-26s  %6s  %6s  %6s  %6s  %6s\n", "f(a, b)", "a", "b", "f", "df/da", "df/db");
  at("relu(a)", 0, 0, [](auto a, auto) { return relu(a); });
  at("relu(a)", nan, 0, [](auto a, auto) { return relu(a); });
  at("max(a, b)", 1, 1, [](auto a, auto b) { return max(a, b); });
  at("max(a, b)", nan, 1, [](auto a, auto b) { return max(a, b); });
  at("max(a, b)", 1, nan, [](auto a, auto b) { return max(a, b); });
  at("min(a, b)", 1, 1, [](auto a, auto b) { return min(a, b); });
  at("min(a, b)", nan, 1, [](auto a, auto b) { return min(a, b); });
  at("min(a, b)", 1, nan, [](auto a, auto b) { return min(a, b); });
  at("sqrt(a)", 0, 0, [](auto a, auto) { return sqrt(a); });
  at("sqrt(a) * b", 0, 0, [](auto a, auto b) { return sqrt(a) * b; });
  at("log(a)", 0, 0, [](auto a, auto) { return log(a); });
  at("a / b", 0, 0, [](auto a, auto b) { return a / b; });
  at("pow(a, b)", 0, 0, [](auto a, auto b) { return pow(a, b); });
  at("pow(a, b)", 0, 0.5, [](auto a, auto b) { return pow(a, b); });
  at("pow(a, b)", 0, 1, [](auto a, auto b) { return pow(a, b); });
  at("pow(a, b)", 0, 2, [](auto a, auto b) { return pow(a, b); });
  at("pow(a, b)", -2, 2, [](auto a, auto b) { return pow(a, b); });
  at("pow(a, 2.0)", -2, 0, [](auto a, auto) { return pow(a, 2.0); });
  at("where(a > 0, sqrt(a), b)", -1, 3, [](auto a, auto b) { return tl::where(a > 0.0, sqrt(a), b); });
  at("where(a > 0, sqrt(a), b)", 0, 3, [](auto a, auto b) { return tl::where(a > 0.0, sqrt(a), b); });
  at("stop_gradient(a) * b", 2, 3, [](auto a, auto b) { return tl::stop_gradient(a) * b; });

  // reductions over (a, b)
  at("max over (a, b)", 1, 1, [](auto a, auto b) { return tl::max(tl::concat<0>(tl::reshape<1>(a), tl::reshape<1>(b))); });
  at("max over (a, b)", 1, nan, [](auto a, auto b) { return tl::max(tl::concat<0>(tl::reshape<1>(a), tl::reshape<1>(b))); });
}
