// expect: tapeless: custom<op>(x...): the tangent of jvp has the result's element type and shape
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct product {
  template <class T> static T primal(T a, T b) { return a * b; }
  static constexpr auto vjp(auto a, auto b, auto, auto y_bar) { return std::tuple{y_bar * b, y_bar * a}; }
  static constexpr auto jvp(auto a, auto b, auto, auto a_dot, auto b_dot) {
#ifdef TAPELESS_BAD
    return tl::slice<0, 0, 2>(a_dot * b + a * b_dot);
#else
    return a_dot * b + a * b_dot;
#endif
  }
};
constexpr auto f = [](auto a, auto b) { return tl::custom<product>(a, b); };
constexpr tl::cost cost = tl::jit([](auto a, auto b) {
                            return tl::jvp<0, 1>(f)(a, b, b, a);
                          }).cost<tl::tensor<double, 3>, tl::tensor<double, 3>>();
