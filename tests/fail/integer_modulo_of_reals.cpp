// expect: tapeless: integer op(a, b): the element type is int32; a % b of real numbers is fmod or remainder, a & b of masks a && b
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return x % 3.0;
#else
  return tl::cast<std::int32_t>(x) % 3;
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
