// expect: tapeless: x.reshape: a tensor has no such member: ops are functions, as tl::sum<axes...>(x), tl::exp(x), tl::matmul(x, w)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 16, 8>;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return x.reshape(8, 16);
#else
  return tl::reshape<8, 16>(x);
#endif
};
void use() { auto run = tl::jit(f).bind<X>(); }
