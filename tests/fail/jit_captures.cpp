// expect: tapeless: jit(f): f has no run-time captures; pass captured values as arguments
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

void train(float rate) {
#ifdef TAPELESS_BAD
  auto step = tl::jit([rate](auto w) { return w * rate; });
  auto run = step.bind<tl::tensor<float, 8>>();
#else
  auto step = tl::jit([](auto w, auto r) { return w * r; });
  auto run = step.bind<tl::tensor<float, 8>, float>();
  static_cast<void>(rate);
#endif
}
