// expect: tapeless: jit(f).bind<...>().into(out): give the bound object a name
// extents: bound_object_with_a_name
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto twice = tl::jit([](auto x) { return x * 2.0f; });
using vector = tl::tensor<float, 8>;

void use(vector x, vector y) {
#ifdef TAPELESS_BAD
  const auto run = twice.bind<vector>().into(y);
#else
  auto bound = twice.bind<vector>();
  const auto run = bound.into(y);
#endif
  run(x);
}
