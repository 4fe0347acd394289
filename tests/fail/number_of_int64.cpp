// expect: tapeless: jit(f): a number argument is float, double, int32 or bool
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using T = std::int64_t;
#else
using T = std::int32_t;
#endif
constexpr auto f = [](auto x, auto k) { return x * tl::cast<float>(k); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>, T>();
