// expect: tapeless: loss(prediction, target): the shapes agree
// extents: {8, 1}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto w, auto y) { return tl::mse_loss(tl::matmul(x, w), y); };
#ifdef TAPELESS_BAD
using target = tl::tensor<float, 8, 1>; // would broadcast to (8, 8)
#else
using target = tl::tensor<float, 8>;
#endif
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8, 3>, tl::tensor<float, 3>, target>();
