// expect: tapeless: run.into(out): out has the element types and extents of the result
// extents: {8}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

void use(tl::tensor<float, 4, 8> x, tl::tensor<float, 8> w, tl::tensor<float, 4> y) {
  auto run = tl::jit([](auto a, auto b) {
               return tl::matmul(a, b);
             }).bind<tl::tensor<float, 4, 8>, tl::tensor<float, 8>>();
#ifdef TAPELESS_BAD
  run.into(w)(x, w);
#else
  run.into(y)(x, w);
#endif
  static_cast<void>(y);
}
