// expect: tapeless: run(x...): an argument of int32 or bool is no floating-point number
// extents: number_without_fraction
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto row = tl::jit([](auto x, auto i) { return tl::gather<0>(x, i); });
using table = tl::tensor<float, 8, 3>;

void use(table x) {
  auto run = row.bind<table, std::int32_t>();
#ifdef TAPELESS_BAD
  run(x, 2.75);
#else
  run(x, 2);
#endif
}
