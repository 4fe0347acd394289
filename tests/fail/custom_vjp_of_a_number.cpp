// expect: tapeless: custom<op>(x...): vjp returns one handle for each operand
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct product {
  template <class T> static T primal(T a, T b) { return a * b; }
#ifdef TAPELESS_BAD
  static constexpr auto vjp(auto, auto b, auto, auto y_bar) { return std::tuple{y_bar * b, 0.0}; }
#else
  static constexpr auto vjp(auto, auto b, auto, auto y_bar) { return std::tuple{y_bar * b, 0.0 * y_bar}; }
#endif
};
constexpr auto f = [](auto a, auto b) { return tl::sum(tl::custom<product>(a, b)); };
constexpr tl::cost cost = tl::jit(tl::grad<0, 1>(f)).cost<tl::tensor<double, 3>, tl::tensor<double, 3>>();
