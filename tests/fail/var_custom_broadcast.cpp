// expect: tapeless: custom<op>(x...): the shapes broadcast
// extents: {4
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct add3 {
  template <class T> static T primal(T a, T b, T c) { return a + b + c; }
  static constexpr auto vjp(auto, auto, auto, auto, auto y_bar) { return std::tuple{y_bar, y_bar, y_bar}; }
};
#ifdef TAPELESS_BAD
using last = tl::tensor<double, 4>;
#else
using last = tl::tensor<double, 3>;
#endif
constexpr auto f = [](auto a, auto b, auto c) {
  tl::var x = a, y = b, z = c;
  return tl::custom<add3>(x, y, z).template as<double, 3>();
};
constexpr tl::cost cost = tl::jit(f).cost<double, tl::tensor<double, 3>, last>();
