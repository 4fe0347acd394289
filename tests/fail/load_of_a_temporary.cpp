// expect: tapeless: run.load(p)(x...): the results die with the loaded object; give it a name
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

void use(tl::tensor<float, 4, 8> x, tl::tensor<float, 8> w) {
  auto run = tl::jit([](auto a, auto b) {
               return tl::matmul(a, b);
             }).bind<tl::tensor<float, 4, 8>, tl::tensor<float, 8>>();
#ifdef TAPELESS_BAD
  run.load(x)(w);
#else
  auto infer = run.load(x);
  infer(w);
#endif
}
