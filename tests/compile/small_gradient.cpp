// budget: 2.5 s, 400 MB
// instantiations: 4719
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The umbrella header and one small gradient.

#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

using row = tl::tensor<float, 64>;

float run() {
  auto step = tl::jit(tl::value_and_grad<0, 1>([](auto x, auto w) {
                return tl::sum(tl::square(x * w));
              })).bind<row, row>();
  tl::owned<row> x, w;
  return std::get<0>(step(*x, *w))[0];
}
