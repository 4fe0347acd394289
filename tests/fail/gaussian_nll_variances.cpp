// expect: tapeless: loss(prediction, target): the shapes agree
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto a, auto b, auto v) {
#ifdef TAPELESS_BAD
  return tl::gaussian_nll_loss(a, b, tl::reshape<4, 1>(v));
#else
  return tl::gaussian_nll_loss(a, b, v);
#endif
});
using X = tl::tensor<float, 4>;
constexpr tl::cost cost = f.cost<X, X, X>();
