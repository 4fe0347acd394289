// expect: tapeless: vjp<i...>(f)(x..., y_bar): every i names an argument of f
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr int wrt = 1;
#else
constexpr int wrt = 0;
#endif
constexpr auto f = [](auto x, auto v) { return tl::vjp<wrt>([](auto a) { return a * 2.0f; })(x, v); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4>, tl::tensor<float, 4>>();
