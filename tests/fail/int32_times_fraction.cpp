// expect: tapeless: elementwise op(a, b): a floating-point number does not meet an int32 or bool tensor
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <cstdint>

#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto i) {
#ifdef TAPELESS_BAD
  return i * 0.5;
#else
  return tl::cast<float>(i) * 0.5 + tl::cast<float>(i * 2);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<std::int32_t, 8>>();
