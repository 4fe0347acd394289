// expect: tapeless: tensor<T, extents...>: T is float, double, int32, bool, bf16, uint8 or int64
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/core/tensor.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using number = std::int16_t;
#else
using number = std::int32_t;
#endif
using numbers = tl::tensor<number, 4>;
constexpr numbers none{};
