// expect: tapeless: run.into(out): no leaf of out is const
// extents: const float
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto twice = tl::jit([](auto x) { return x * 2.0f; });
using vector = tl::tensor<float, 8>;

void use(vector x, vector y, tl::tensor<const float, 8> read_only) {
  auto run = twice.bind<vector>();
#ifdef TAPELESS_BAD
  run.into(read_only)(x);
#else
  run.into(y)(read_only);
#endif
  static_cast<void>(x);
  static_cast<void>(y);
  static_cast<void>(read_only);
}
