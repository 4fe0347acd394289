// expect: tapeless: bind_for(option, x...): the option comes first
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
constexpr auto f = [](auto x) { return tl::sum(x); };
void use(const X& x) {
#ifdef TAPELESS_BAD
  auto run = tl::jit(f).bind_for(x, tl::threads(2));
#else
  auto run = tl::jit(f).bind_for(tl::threads(2), x);
#endif
  run(x);
}
