// expect: tapeless: softmax_cross_entropy(logits, probabilities): they have the shape and the element type of the logits
// extents: {4, 11}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using probabilities = tl::tensor<float, 4, 11>;
#else
using probabilities = tl::tensor<float, 4, 10>;
#endif
constexpr auto f = [](auto x, auto p) { return tl::mean(tl::softmax_cross_entropy(x, p)); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 10>, probabilities>();
