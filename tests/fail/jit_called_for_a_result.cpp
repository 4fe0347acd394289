// expect: tapeless: jit(f)(x...): bind it to the types of its arguments first: auto run = jit(f).bind<X...>(); run(x...)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 16, 8>;

constexpr auto f = [](auto x) { return tl::sum(x); };
void use(X x) {
#ifdef TAPELESS_BAD
  const auto y = tl::jit(f)(x);
#else
  auto run = tl::jit(f).bind<X>();
  const auto y = run(x);
#endif
  static_cast<void>(y);
}
