// expect: tapeless: run(x...): each argument has the element types and extents it was bound for, as *p of an owned p, X(v.data(), n) of a vector v
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 16, 8>;

void use(X x) {
  auto run = tl::jit([](auto y) { return tl::sum(y); }).bind<X>();
#ifdef TAPELESS_BAD
  run(nullptr);
#else
  run(x);
#endif
  static_cast<void>(x);
}
