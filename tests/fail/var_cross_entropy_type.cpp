// expect: tapeless: softmax_cross_entropy(logits, label): logits are float or double
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using rows = tl::tensor<std::int32_t, 2, 3>;
#else
using rows = tl::tensor<float, 2, 3>;
#endif
constexpr auto f = [](auto x, auto label) {
  tl::var h = x;
  return (tl::softmax_cross_entropy(h, label) > 0).template as<bool, 2>();
};
constexpr tl::cost cost = tl::jit(f).cost<rows, tl::tensor<std::int32_t, 2>>();
