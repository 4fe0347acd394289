// expect: tapeless: softmax_cross_entropy<label>(logits, probabilities): a label to ignore is one of int32 labels; weigh the rows instead
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto p, auto keep) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::softmax_cross_entropy<tl::ignore_label{255}>(x, p));
#else
  return tl::sum(tl::where(keep, tl::softmax_cross_entropy(x, p), 0.0f));
#endif
};
constexpr tl::cost cost =
    tl::jit(f).cost<tl::tensor<float, 4, 10>, tl::tensor<float, 4, 10>, tl::tensor<bool, 4>>();
