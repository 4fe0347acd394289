// expect: tapeless: run.load(p): p has the element types and extents of the first argument
// extents: 8
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

void use(tl::tensor<float, 4, 8> x, tl::tensor<float, 8> w) {
  auto run = tl::jit([](auto a, auto b) {
               return tl::matmul(b, a);
             }).bind<tl::tensor<float, 8>, tl::tensor<float, 4, 8>>();
#ifdef TAPELESS_BAD
  static_cast<void>(run.load(x));
#else
  static_cast<void>(run.load(w));
#endif
  static_cast<void>(x);
  static_cast<void>(w);
}
