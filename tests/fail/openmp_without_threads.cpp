// expect: tapeless: TAPELESS_WITH_OPENMP and TAPELESS_WITHOUT_THREADS: define one of them
// flags: -DTAPELESS_WITH_OPENMP -DTAPELESS_WITHOUT_THREADS
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
