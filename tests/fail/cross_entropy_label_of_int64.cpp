// expect: tapeless: softmax_cross_entropy(logits, label): label is int32, as cast<std::int32_t>(label) is
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto l) {
#ifdef TAPELESS_BAD
  return tl::softmax_cross_entropy(x, l);
#else
  return tl::softmax_cross_entropy(x, tl::cast<std::int32_t>(l));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 10>, tl::tensor<std::int64_t, 4>>();
