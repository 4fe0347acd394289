// expect: tapeless: x.item: a tensor has no such member: a result of rank 0 is read as x[0]
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 16, 8>;

float use(X x) {
  auto run = tl::jit([](auto y) { return tl::sum(y); }).bind<X>();
#ifdef TAPELESS_BAD
  return run(x).item();
#else
  return run(x)[0];
#endif
}
