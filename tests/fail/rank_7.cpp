// expect: tapeless: tensor<T, extents...>: at most 6 axes
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using x_t = tl::tensor<float, 2, 2, 2, 2, 2, 2, 2>;
#else
using x_t = tl::tensor<float, 2, 2, 2, 2, 2, 4>;
#endif
constexpr tl::cost cost = tl::jit([](auto x) { return tl::sum(x); }).cost<x_t>();
