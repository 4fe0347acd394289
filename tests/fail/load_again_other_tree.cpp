// expect: tapeless: infer.load(p): p is of the type that run.load(p) was called with
// extents: 8
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

void use(tl::tensor<float, 4, 8> x, tl::tensor<float, 8> w) {
  auto run = tl::jit([](auto a, auto b) {
               return tl::matmul(a, b);
             }).bind<tl::tensor<float, 4, 8>, tl::tensor<float, 8>>();
  auto infer = run.load(x);
#ifdef TAPELESS_BAD
  infer.load(w);
#else
  infer.load(x);
#endif
  static_cast<void>(w);
}
