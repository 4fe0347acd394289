// expect: tapeless: the library is C++20: compile with -std=c++20
// flags: -std=c++17
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
