// expect: tapeless: tensor<T, extents...>: an extent is at least 0
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using x_t = tl::tensor<float, -1, 3>;
#else
using x_t = tl::tensor<float, 0, 3>;
#endif
constexpr tl::cost cost = tl::jit([](auto x) { return tl::sum(x); }).cost<x_t>();
