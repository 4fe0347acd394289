// expect: tapeless: -fno-exceptions: mistakes at run time are exceptions; compile this file with exceptions
// flags: -fno-exceptions
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
