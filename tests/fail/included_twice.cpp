// expect: tapeless: a second copy of the library is included: take one header or the folder, not both
// flags: -DTAPELESS_INCLUDED
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
// TAPELESS_BAD: as behind another copy, whose first header defines TAPELESS_INCLUDED
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto twice = tl::jit([](auto x) { return x * 2.0f; });
using vector = tl::tensor<float, 8>;

float use(vector x) {
  auto run = twice.bind<vector>();
  return run(x)[0];
}
