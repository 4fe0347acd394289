// expect: tapeless: op(a): bf16, uint8 and int64 are for storage; cast<float>(a) first, or cast<std::int32_t>(a) of integers
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using T = std::int64_t;
#else
using T = std::int32_t;
#endif
constexpr auto f = [](auto c, auto x, auto y) { return tl::where(c, x, y); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<bool, 8>, tl::tensor<T, 8>, tl::tensor<T, 8>>();
