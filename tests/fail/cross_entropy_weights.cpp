// expect: tapeless: class_weights(w): w is (classes), of the element type of the logits
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using weights = tl::tensor<float, 4>; // of rows: these are factors of the losses
#else
using weights = tl::tensor<float, 10>;
#endif
constexpr auto f = [](auto x, auto label, auto w) {
  return tl::mean(tl::softmax_cross_entropy(x, label, tl::class_weights(w)));
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 10>, tl::tensor<std::int32_t, 4>, weights>();
