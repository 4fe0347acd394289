// expect: tapeless: op(a): bf16, uint8 and int64 are for storage; cast<float>(a) first, or cast<std::int32_t>(a) of integers
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
constexpr auto f = [](auto x, auto y) { return x == y; };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<T, 8>, tl::tensor<T, 8>>();
