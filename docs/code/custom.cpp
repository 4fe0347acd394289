// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <cmath>

namespace tl = tapeless;

// [elementwise]
// y = log(1 + e^x)      vjp: x_bar += y_bar sigmoid(x)
struct softplus {
  static constexpr const char* name = "softplus"; // for explain; "custom" where it is missing
  static constexpr double flops = 3;              // for cost, an element; 1 where it is missing
  template <class T> static T primal(T x) { return std::log1p(std::exp(x)); }
  static constexpr auto vjp(auto x, auto /*y*/, auto y_bar) { return y_bar * sigmoid(x); }
};
// [/elementwise]

// [whole]
// y[i] = x[0] + ... + x[i]      vjp: x_bar[i] += y_bar[i] + ... + y_bar[n-1]
template <bool Reverse> struct running_sum {
  static constexpr tl::shape result(tl::shape x) { return x; }
  static void primal(auto y, auto x) { // views
    auto sum = x[0] - x[0];
    for (tl::extent_t k = 0; k < x.size(); ++k) {
      const auto i = Reverse ? x.size() - 1 - k : k;
      y[i] = sum += x[i];
    }
  }
  static constexpr auto vjp(auto /*x*/, auto /*y*/, auto y_bar) { return tl::custom<running_sum<!Reverse>>(y_bar); }
  static constexpr auto jvp(auto /*x*/, auto /*y*/, auto x_dot) { return tl::custom<running_sum>(x_dot); }
};
// [/whole]

// [signature]
// x: tensor<double, 4>
constexpr auto f = [](auto x) {
  auto a = tl::custom<softplus>(x);           // (4): fused like a built-in op
  auto b = tl::custom<running_sum<false>>(x); // (4): a step of its own
  return tl::sum(a * b);
};
// [/signature]

int main() {
  using V = tl::tensor<double, 4>;
  tl::owned<V> x;
  count_up(*x);
  auto run = tl::jit(tl::value_and_grad(f)).bind<V>();
  const auto [y, gradient] = run(*x);
  show("f", y);
  show("gradient", gradient);

  // the same with built-in ops
  constexpr auto g = [](auto v) {
    auto n = tl::iota<0>(v);
    auto lower = tl::cast<double>(tl::reshape<4, 1>(n) >= n);
    return tl::sum(tl::log(1.0 + exp(v)) * tl::matmul(lower, v));
  };
  show("expected", std::get<1>(tl::jit(tl::value_and_grad(g)).bind<V>()(*x)));
  show("second", tl::jit([](auto v) { return tl::hvp(f)(v, v); }).bind<V>()(*x));
  show("expected", tl::jit([](auto v) { return tl::hvp(g)(v, v); }).bind<V>()(*x));
}
