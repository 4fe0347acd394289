// expect: tapeless: run(x...): as many arguments as the program was bound for
// extents: as_many_arguments
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

void use(tl::tensor<float, 4, 8> x, tl::tensor<float, 8> w, tl::tensor<float, 4> y) {
  auto run = tl::jit([](auto a, auto b) {
               return tl::matmul(a, b);
             }).bind<tl::tensor<float, 4, 8>, tl::tensor<float, 8>>();
#ifdef TAPELESS_BAD
  run(x);
#else
  run(x, w);
#endif
  static_cast<void>(w);
  static_cast<void>(y);
}
