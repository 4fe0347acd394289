// expect: tapeless: op(a, eps): eps is a floating-point number, as 1e-5; an axis or a count of axes is a template argument, as in layer_norm<2>(x), cosine_similarity<1>(a, b)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::layer_norm(x, 2);
#else
  return tl::layer_norm<2>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
