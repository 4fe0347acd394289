// expect: tapeless: custom<op>(x...): the shapes broadcast
// extents: {7}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using row = tl::tensor<float, 7>;
#else
using row = tl::tensor<float, 8>;
#endif
struct product {
  static float primal(float a, float b) { return a * b; }
  static constexpr auto vjp(auto a, auto b, auto, auto y_bar) { return std::tuple{y_bar * b, y_bar * a}; }
};
constexpr auto f = [](auto x, auto y) { return tl::custom<product>(x, y); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>, row>();
