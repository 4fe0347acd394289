// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <algorithm>
#include <cmath>

namespace tl = tapeless;

// [elementwise]
// y = log(1 + e^x)      vjp: x_bar += y_bar sigmoid(x)
struct softplus {
  static constexpr const char* name = "softplus"; // for explain; "custom" where it is missing
  static constexpr double flops = 3;              // for cost, an element; 1 where it is missing
  template <class T> static T primal(T x) { return std::log1p(std::exp(x)); }
  static constexpr auto vjp(auto x, auto /*y*/, auto y_bar) { return y_bar * sigmoid(x); }
  static constexpr const char* device = "return log1p(exp(x));"; // primal as text, for a GPU alone
};
// [/elementwise]

// [whole]
// y = sqrt(sum x_i^2), without overflow      vjp: x_bar += y_bar x / y
struct norm {
  static constexpr tl::shape result(tl::shape) { return {}; } // rank 0
  static void primal(auto y, auto x) {                        // views
    auto largest = x[0] - x[0];
    for (const auto e : x) largest = std::max(largest, std::abs(e));
    y[0] = 0;
    if (largest == 0) return;
    for (const auto e : x) y[0] += (e / largest) * (e / largest);
    y[0] = largest * std::sqrt(y[0]);
  }
  static constexpr auto vjp(auto x, auto y, auto y_bar) { return y_bar * (x / y); }
  static constexpr auto jvp(auto x, auto y, auto x_dot) { return tl::sum(x * x_dot) / y; }
};
// [/whole]

// [signature]
// x: tensor<double, 4>
constexpr auto f = [](auto x) {
  auto a = tl::custom<softplus>(x); // (4): fused like a built-in op
  auto b = tl::custom<norm>(x);     // (): a step of its own
  return tl::sum(a) * b;
};
// [/signature]

constexpr auto built_in = [](auto x) { return tl::sum(log(1.0 + exp(x))) * sqrt(tl::sum(square(x))); };

int main() {
  using V = tl::tensor<double, 4>;
  tl::owned<V> x;
  count_up(*x);
  auto run = tl::jit(tl::value_and_grad(f)).bind<V>();
  const auto [y, gradient] = run(*x);
  show("f", y);
  show("gradient", gradient);

  auto expected = tl::jit(tl::value_and_grad(built_in)).bind<V>();
  show("expected", std::get<1>(expected(*x)));
  auto second = tl::jit([](auto v) { return tl::hvp(f)(v, v); }).bind<V>();
  show("second", second(*x));
  auto expected_second = tl::jit([](auto v) { return tl::hvp(built_in)(v, v); }).bind<V>();
  show("expected", expected_second(*x));
}
