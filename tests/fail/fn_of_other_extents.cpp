// expect: tapeless: jit(f): f takes these arguments, numbers too as auto or tl::scalar<T>
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using argument = tl::tensor<float, 5>;
#else
using argument = tl::tensor<float, 4>;
#endif
constexpr tl::tensor<float, 4> twice(const tl::tensor<float, 4>& x) { return x * 2.0f; }
constexpr tl::cost cost = tl::jit(tl::fn<twice>).cost<argument>();
