// expect: tapeless: jit(f)(x...): bind it to the types of its arguments first
// extents: arguments_of_a_bound_program
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto twice = tl::jit([](auto x) { return x * 2.0f; });
using vector = tl::tensor<float, 8>;

void use(vector x, vector out) {
#ifdef TAPELESS_BAD
  twice(x);
  (void)out;
#else
  auto run = twice.bind<vector>();
  run.into(out)(x);
#endif
}
