// expect: tapeless: matmul(a, b): both are float, both are double or both are bf16
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using T = tl::bf16;
#else
using T = float;
#endif
constexpr auto f = [](auto x, auto w) { return tl::matmul(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<T, 4, 8>, tl::tensor<float, 8, 3>>();
