// expect: tapeless: class_weights(w): w is a tensor (classes), an argument of the program, not numbers
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto label, [[maybe_unused]] auto w) {
#ifdef TAPELESS_BAD
  return tl::softmax_cross_entropy(x, label, tl::class_weights({1, 2, 1}));
#else
  return tl::softmax_cross_entropy(x, label, tl::class_weights(w));
#endif
};
constexpr tl::cost cost =
    tl::jit(f).cost<tl::tensor<float, 4, 3>, tl::tensor<std::int32_t, 4>, tl::tensor<float, 3>>();
