// expect: tapeless: softmax_cross_entropy(logits, label, options...): an option is tl::class_weights(w) or tl::label_smoothing(e); a label to ignore is a template argument, as in softmax_cross_entropy<tl::ignore_label{255}>(logits, label), and weights of rows are factors of the result
// extents: options_of_cross_entropy
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto label) {
#ifdef TAPELESS_BAD
  return tl::mean(tl::softmax_cross_entropy(x, label, tl::ignore_label{255}));
#else
  return tl::mean(tl::softmax_cross_entropy<tl::ignore_label{255}>(x, label));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 10>, tl::tensor<std::int32_t, 4>>();
