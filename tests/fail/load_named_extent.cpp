// expect: tapeless: run.load(p): the extents of p are static
// extents: 8
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using weights = tl::tensor<float, tl::dyn<'n'>, 8>;
#else
using weights = tl::tensor<float, 4, 8>;
#endif
void use(weights w) {
  auto run = tl::jit([](auto a, auto b) { return tl::matmul(a, b); })
                 .bind<weights, tl::tensor<float, 8>>(
#ifdef TAPELESS_BAD
                     tl::dim<'n'>(4)
#endif
                 );
  static_cast<void>(run.load(w));
}
