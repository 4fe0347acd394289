// expect: tapeless: positive_weight(w): w broadcasts to the shape of the prediction
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using weight = tl::tensor<float, 4, 1, 1>;
#else
using weight = tl::tensor<float, 9>;
#endif
constexpr auto f = [](auto x, auto y, auto w) {
  return tl::binary_cross_entropy_with_logits(x, y, tl::positive_weight(w));
};
using batch = tl::tensor<float, 4, 9>;
constexpr tl::cost cost = tl::jit(f).cost<batch, batch, weight>();
