// expect: tapeless: cast<T>(a): bf16 stores a float: cast to float first
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::cast<tl::bf16>(x);
#else
  return tl::cast<tl::bf16>(tl::cast<float>(x));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<std::uint8_t, 8>>();
