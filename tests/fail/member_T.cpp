// expect: tapeless: x.T: a tensor has no such member: ops are functions: tl::transpose(x)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 16, 8>;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::matmul(x.T, x);
#else
  return tl::matmul(tl::transpose(x), x);
#endif
};
void use() { auto run = tl::jit(f).bind<X>(); }
