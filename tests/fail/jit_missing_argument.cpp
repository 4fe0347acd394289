// expect: tapeless: jit(f): f takes these arguments, numbers too as auto or tl::scalar<T>
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto w) { return tl::matmul(x, w); };
#ifdef TAPELESS_BAD
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>>();
#else
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>, tl::tensor<float, 8>>();
#endif
