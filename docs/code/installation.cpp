// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>
#include <cstdio>
namespace tl = tapeless;

int main() {
  auto run = tl::jit(tl::grad([](auto x) { return tl::sum(tl::square(x)); })).bind<tl::tensor<float, 1>>();
  float x[] = {1};
  std::printf("%g\n", run(tl::tensor<float, 1>(x))[0]);
}
