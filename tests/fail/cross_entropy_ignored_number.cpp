// expect: tapeless: softmax_cross_entropy<label>(logits, label): a label to ignore is given as softmax_cross_entropy<tl::ignore_label{255}>(logits, label)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto logits, auto label) {
#ifdef TAPELESS_BAD
  return tl::mean(tl::softmax_cross_entropy<255>(logits, label));
#else
  return tl::mean(tl::softmax_cross_entropy<tl::ignore_label{255}>(logits, label));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 3>, tl::tensor<std::int32_t, 4>>();
