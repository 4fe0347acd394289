// expect: tapeless: run(x...): each argument has the element types and extents it was bound for, as *p of an owned p, X(v.data(), n) of a vector v
// extents: {4}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

void use(tl::tensor<float, 4, 8> x, tl::tensor<float, 8> w, tl::tensor<float, 4> y) {
  auto run = tl::jit([](auto a, auto b) {
               return tl::matmul(a, b);
             }).bind<tl::tensor<float, 4, 8>, tl::tensor<float, 8>>();
#ifdef TAPELESS_BAD
  run(x, y);
#else
  run(x, w);
#endif
  static_cast<void>(w);
  static_cast<void>(y);
}
