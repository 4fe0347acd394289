// expect: tapeless: run.load(p)(x...): as many arguments as the program was bound for, but the first
// extents: as_many_arguments
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

void use(tl::tensor<float, 4, 8> x, tl::tensor<float, 8> w) {
  auto run = tl::jit([](auto a, auto b) {
               return tl::matmul(a, b);
             }).bind<tl::tensor<float, 4, 8>, tl::tensor<float, 8>>();
  auto loaded = run.load(x);
#ifdef TAPELESS_BAD
  loaded();
#else
  loaded(w);
#endif
  static_cast<void>(w);
}
