// expect: tapeless: cast<T>(a): bf16 stores a float: cast to float first
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using T = tl::bf16;
#else
using T = float;
#endif
constexpr auto f = [](auto x) { return tl::cast<std::int32_t>(x); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<T, 8>>();
