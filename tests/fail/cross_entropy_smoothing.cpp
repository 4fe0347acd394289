// expect: tapeless: label_smoothing(e): 0 <= e <= 1
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto label) {
#ifdef TAPELESS_BAD
  return tl::mean(tl::softmax_cross_entropy(x, label, tl::label_smoothing(10)));
#else
  return tl::mean(tl::softmax_cross_entropy(x, label, tl::label_smoothing(0.1)));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 10>, tl::tensor<std::int32_t, 4>>();
