// expect: tapeless: run.load(p): p has the element types and extents of the first argument
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

void use(tl::tensor<std::int32_t, 4> x) {
  auto run = tl::jit([](auto k, auto a) { return a * k; }).bind<std::int32_t, tl::tensor<std::int32_t, 4>>();
#ifdef TAPELESS_BAD
  auto infer = run.load(2.5);
#else
  auto infer = run.load(2);
#endif
  infer(x);
}
