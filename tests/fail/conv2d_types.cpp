// expect: tapeless: convolution(x, w): both are float, both are double or both are bf16
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using weights = tl::tensor<float, 6, 4, 3, 3>;
#else
using weights = tl::tensor<tl::bf16, 6, 4, 3, 3>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv2d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<tl::bf16, 1, 4, 12, 12>, weights>();
