// expect: is too old: take
// flags: -U__GNUC__ -D__GNUC__=11 -U__clang_major__ -D__clang_major__=15
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
// TAPELESS_BAD: compiled with the flags above
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto twice = tl::jit([](auto x) { return x * 2.0f; });
using vector = tl::tensor<float, 8>;

float use(vector x) {
  auto run = twice.bind<vector>();
  return run(x)[0];
}
