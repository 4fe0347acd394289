// expect: tapeless: jvp<i...>(f)(x..., x_dot...): a tangent has the type of its argument
// extents: {8, 4}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using tangent = tl::tensor<float, 8, 4>;
#else
using tangent = tl::tensor<float, 4, 8>;
#endif
constexpr auto f = [](auto x, auto v) {
  return tl::jvp<0>([](auto a) { return tl::sum(tl::square(a)); })(x, v);
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>, tangent>();
