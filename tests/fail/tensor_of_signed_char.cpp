// expect: tapeless: tensor<T, extents...>: T is float, double, int32, bool, bf16, uint8 or int64
// extents: signed char
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using pixels = tl::tensor<signed char, 4>;
#else
using pixels = tl::tensor<unsigned char, 4>;
#endif
constexpr pixels none{};
