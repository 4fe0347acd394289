// expect: tapeless: batch_norm(x, gamma, beta): gamma, beta, mean and variance are (C)
// extents: {4}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using scale = tl::tensor<float, 4>;
#else
using scale = tl::tensor<float, 16>;
#endif
constexpr auto f = [](auto x, auto g, auto b) {
  tl::var h = x;
  h = tl::batch_norm(h, g, b);
  return (h > 0).template as<bool, 2, 16, 4>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 16, 4>, scale, scale>();
