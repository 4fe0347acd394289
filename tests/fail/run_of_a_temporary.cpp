// expect: tapeless: jit(f).bind<...>()(x...): the results die with the bound object; give it a name
// extents: bound_object_with_a_name
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto twice = tl::jit([](auto x) { return x * 2.0f; });
using vector = tl::tensor<float, 8>;

float use(vector x) {
#ifdef TAPELESS_BAD
  const vector y = twice.bind<vector>()(x);
#else
  auto run = twice.bind<vector>();
  const vector y = run(x);
#endif
  return y[0];
}
