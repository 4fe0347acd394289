// expect: tapeless: a named extent is that of an argument
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr tl::extent_t rows = tl::dyn<'m'>;
#else
constexpr tl::extent_t rows = tl::dyn<'n'>;
#endif
constexpr auto bias = [](auto x, auto b) { return tl::sum(x) + tl::sum(tl::broadcast_to<rows, 3>(b)); };
constexpr tl::cost cost =
    tl::jit(tl::grad<1>(bias)).cost<tl::tensor<float, tl::dyn<'n'>, 3>, tl::tensor<float, 3>>();
