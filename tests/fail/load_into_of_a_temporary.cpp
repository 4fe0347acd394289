// expect: tapeless: run.load(p).into(out): give the loaded object a name
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

void use(tl::tensor<float, 4, 8> x, tl::tensor<float, 8> w, tl::tensor<float, 4> y) {
  auto run = tl::jit([](auto a, auto b) {
               return tl::matmul(a, b);
             }).bind<tl::tensor<float, 4, 8>, tl::tensor<float, 8>>();
#ifdef TAPELESS_BAD
  run.load(x).into(y)(w);
#else
  auto infer = run.load(x);
  infer.into(y)(w);
#endif
}
