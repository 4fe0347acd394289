// expect: tapeless: sgd opt(1e-3): name the parameter tree: tl::sgd<params> opt(1e-3)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct params {
  tl::tensor<float, 8, 4> w;
  tl::tensor<float, 4> b;
};
using X = tl::tensor<float, 16, 8>;

void use() {
#ifdef TAPELESS_BAD
  tl::sgd opt(1e-3);
#else
  tl::sgd<params> opt(1e-3);
#endif
}
