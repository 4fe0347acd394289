// expect: tapeless: custom<op>(x...): the operands have one element type
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct product {
  template <class T> static T primal(T a, T b) { return a * b; }
  static constexpr auto vjp(auto a, auto b, auto, auto y_bar) { return std::tuple{y_bar * b, y_bar * a}; }
};
#ifdef TAPELESS_BAD
using second = tl::tensor<float, 3>;
#else
using second = tl::tensor<double, 3>;
#endif
constexpr auto f = [](auto a, auto b) {
  tl::var x = a, y = b;
  return tl::custom<product>(x, y).template as<double, 3>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<double, 3>, second>();
