// expect: tapeless: vjp<i...>(f)(x..., y_bar): y_bar has the type of f's result
// extents: {8}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using y_bar = tl::tensor<float, 8>;
#else
using y_bar = tl::tensor<float, 4>;
#endif
constexpr auto f = [](auto x, auto y) {
  return tl::vjp<0>([](auto a) { return tl::sum<1>(tl::square(a)); })(x, y);
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>, y_bar>();
