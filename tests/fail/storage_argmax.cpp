// expect: tapeless: op(a): bf16, uint8 and int64 are for storage; cast<float>(a) first, or cast<std::int32_t>(a) of integers
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using T = std::uint8_t;
#else
using T = float;
#endif
constexpr auto f = [](auto x) { return tl::argmax<0>(x); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<T, 8>>();
