// expect: tapeless: op(a): bf16 is for storage; cast<float>(a) first
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using T = tl::bf16;
#else
using T = float;
#endif
constexpr auto f = [](auto c, auto x, auto y) { return tl::where(c, x, y); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<bool, 8>, tl::tensor<T, 8>, tl::tensor<T, 8>>();
